/** Observable instruments for an OpenTelemetry SDK, which read the figures at each collection. */
import {
  createNoopMeter,
  type Meter,
  metrics,
  type Observable,
  type ObservableResult
} from '@opentelemetry/api'
import { SCOPE } from '../traces/attributes.ts'
import { numbers } from './collect.ts'
import type { NumberMetric } from './metric.ts'
import { hasOutboxes, readOutboxes } from './outbox.ts'

/** The names of the registered instruments, by the provider that has made them. */
const registered = new WeakMap<object, Set<string>>()

/**
 * Registers instruments for all figures except durations, for which the API has no observable instrument. Does
 * nothing if no SDK for metrics is registered, or if the instruments exist already.
 */
export function registerInstruments(): void {
  const provider = metrics.getMeterProvider()
  const meter = provider.getMeter(SCOPE)
  if (meter === createNoopMeter()) return
  const known = registered.get(provider) ?? new Set<string>()
  registered.set(provider, known)
  for (const metric of numbers()) {
    if (known.has(metric.name)) continue
    known.add(metric.name)
    newInstrument(meter, metric).addCallback((result) => observe(metric.name, result))
  }
}

function newInstrument(meter: Meter, { kind, name, description, unit }: NumberMetric): Observable {
  const options = { description, unit }
  if (kind === 'counter') return meter.createObservableCounter(name, options)
  if (kind === 'updown') return meter.createObservableUpDownCounter(name, options)
  return meter.createObservableGauge(name, options)
}

/**
 * The metrics of the current collection. An SDK reads all instruments in one turn of the event loop, so they share
 * one collection.
 */
let collected: NumberMetric[] | undefined

function observe(name: string, result: ObservableResult): void | Promise<void> {
  if (hasOutboxes()) return readOutboxes().then(() => observeRead(name, result))
  observeRead(name, result)
}

function observeRead(name: string, result: ObservableResult): void {
  if (collected === undefined) {
    collected = numbers()
    setImmediate(() => {
      collected = undefined
      // A service that has started since may have figures with new names.
      registerInstruments()
    })
  }
  const metric = collected.find((each) => each.name === name)
  for (const { value, attributes } of metric?.points ?? []) result.observe(value, attributes)
}
