import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Overview, ServiceView } from '../protocol.ts'
import { calmOf } from './calm.ts'

const view = (service: string, isCounted?: boolean): ServiceView => ({
  id: service,
  service,
  ...(isCounted !== undefined && {
    described: { name: service, version: '', status: 'listening', isCounted, leftOut: [] }
  })
})
const told = (...services: ServiceView[]): Overview => ({ canTry: false, interval: 1_000, services })

describe('a page without alerts', () => {
  it('says that nothing is wrong only where errors would be seen', () => {
    assert.equal(calmOf(undefined), undefined)
    assert.match(calmOf(told())?.text ?? '', /^Nothing is known: no service/)
    assert.match(calmOf(told(view('a')))?.text ?? '', /^Nothing is known: no service/)
    assert.deepEqual(calmOf(told(view('a', true))), { text: 'Nothing is wrong', isGood: true, unwatched: '' })
    assert.deepEqual(calmOf(told(view('a', true), view('b', false), view('c'))), {
      text: 'Nothing is known to be wrong · 2 services not watched',
      isGood: false,
      unwatched:
        'Errors are not counted without telemetry(): b. Nothing is known of what does not describe itself: c.'
    })
  })
})
