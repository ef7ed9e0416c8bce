import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createContextKey, propagation, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { withSpan } from './context-of-span.ts'

const span = (traceId: string) =>
  trace.wrapSpanContext({ traceId, spanId: '00f067aa0ba902b7', traceFlags: 1 })
const [a, b] = [span('4bf92f3577b34da6a3ce929d0e0e4736'), span('0af7651916cd43dd8448eb211c80319c')]
const key = createContextKey('mine')

describe('withSpan', () => {
  it('has the span as the current one, and what its parent has', () => {
    const context = withSpan(ROOT_CONTEXT.setValue(key, 7), a)
    assert.equal(trace.getSpan(context), a)
    assert.equal(context.getValue(key), 7)
    assert.equal(context.getValue(createContextKey('another')), undefined)
  })

  it('is changed by nobody: each change is a context of its own, with the span', () => {
    const context = withSpan(ROOT_CONTEXT, a)
    const larger = context.setValue(key, 7)
    assert.equal(trace.getSpan(larger), a)
    assert.equal(larger.getValue(key), 7)
    assert.equal(context.getValue(key), undefined)
    const smaller = larger.deleteValue(key)
    assert.equal(trace.getSpan(smaller), a)
    assert.equal(smaller.getValue(key), undefined)
    const baggage = propagation.createBaggage({ tenant: { value: 'x' } })
    assert.equal(propagation.getBaggage(propagation.setBaggage(context, baggage)), baggage)
  })

  it('gives the span up for another one, or for none', () => {
    const context = withSpan(ROOT_CONTEXT, a)
    assert.equal(trace.getSpan(trace.setSpan(context, b)), b)
    assert.equal(trace.getSpan(withSpan(context, b)), b)
    assert.equal(trace.getSpan(trace.deleteSpan(context)), undefined)
  })
})
