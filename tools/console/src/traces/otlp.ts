/**
 * Reads the spans and log lines that OpenTelemetry exporters send (OTLP 1.x in its JSON form). The sender is not
 * trusted.
 */
import { fieldsOf, finite, firstOf, shortText } from '../bounds.ts'
import type { LogLine, SpanView } from '../protocol.ts'

/** A span with the id of its trace. */
export interface ReceivedSpan extends SpanView {
  readonly trace: string
}

/** A log line that was written within a span. */
export interface ReceivedLine extends LogLine {
  readonly trace: string
  readonly span: string
}

/** Largest numbers of attributes and events that are kept of a span. */
const MAX_ATTRIBUTES = 32
const MAX_EVENTS = 16
const MAX_NAME = 200
const MAX_VALUE = 500
const MAX_LINE = 1_000
/** Largest number of spans and log lines in one body. */
const MAX_BATCH = 5_000

const KINDS = ['internal', 'internal', 'server', 'client', 'producer', 'consumer'] as const
/** The attribute that names the service; it is the same for all spans of a process. */
const SERVICE = 'service.name'
const TRACE_ID = /^[0-9a-f]{32}$/
const SPAN_ID = /^[0-9a-f]{16}$/

/** The spans of a body. Invalid ones are left out. */
export function readSpans(body: unknown): ReceivedSpan[] {
  const spans: ReceivedSpan[] = []
  for (const { service, records } of scopesOf(body, 'resourceSpans', 'scopeSpans', 'spans'))
    for (const record of records) {
      if (spans.length >= MAX_BATCH) return spans
      const span = spanOf(record, service)
      if (span !== undefined) spans.push(span)
    }
  return spans
}

/** The log lines of a body that belong to spans. Others are left out, because the terminal shows them. */
export function readLines(body: unknown): ReceivedLine[] {
  const lines: ReceivedLine[] = []
  for (const { records } of scopesOf(body, 'resourceLogs', 'scopeLogs', 'logRecords'))
    for (const record of records) {
      if (lines.length >= MAX_BATCH) return lines
      const {
        traceId,
        spanId,
        timeUnixNano,
        observedTimeUnixNano,
        severityText,
        body: text
      } = fieldsOf(record)
      const [trace, span] = [idOf(traceId, TRACE_ID), idOf(spanId, SPAN_ID)]
      if (trace === '' || span === '') continue
      const at = millisecondsOf(timeUnixNano) || millisecondsOf(observedTimeUnixNano)
      lines.push({
        trace,
        span,
        at,
        level: shortText(severityText, 20),
        text: shortText(plainOf(text), MAX_LINE)
      })
    }
  return lines
}

function* scopesOf(body: unknown, resources: string, scopes: string, records: string) {
  for (const resource of firstOf(fieldsOf(body)[resources], MAX_BATCH)) {
    const { attributes } = fieldsOf(fieldsOf(resource)['resource'])
    const service = attributesOf(attributes).find(([name]) => name === SERVICE)?.[1] ?? ''
    for (const scope of firstOf(fieldsOf(resource)[scopes], MAX_BATCH))
      yield { service: shortText(service, MAX_NAME), records: firstOf(fieldsOf(scope)[records], MAX_BATCH) }
  }
}

function spanOf(record: unknown, service: string): ReceivedSpan | undefined {
  const given = fieldsOf(record)
  const [trace, id] = [idOf(given['traceId'], TRACE_ID), idOf(given['spanId'], SPAN_ID)]
  if (trace === '' || id === '') return undefined
  const start = millisecondsOf(given['startTimeUnixNano'])
  const end = millisecondsOf(given['endTimeUnixNano'])
  const { code, message } = fieldsOf(given['status'])
  const attributes = attributesOf(given['attributes'])
  const isFailed = code === 2 || code === 'STATUS_CODE_ERROR'
  const error =
    shortText(message, MAX_VALUE) || attributes.find(([name]) => name === 'error.type')?.[1] || 'failed'
  return {
    trace,
    id,
    parent: idOf(given['parentSpanId'], SPAN_ID),
    name: shortText(given['name'], MAX_NAME),
    service,
    kind: KINDS[finite(given['kind'])] ?? 'internal',
    start,
    duration: Math.max(0, end - start),
    ...(isFailed && { error }),
    attributes,
    logs: firstOf(given['events'], MAX_EVENTS).map(eventOf)
  }
}

function eventOf(event: unknown): LogLine {
  const { timeUnixNano, name, attributes } = fieldsOf(event)
  const details = attributesOf(attributes).map(([key, value]) => `${key}=${value}`)
  return {
    at: millisecondsOf(timeUnixNano),
    level: 'event',
    text: shortText([shortText(name, MAX_NAME), ...details].join(' '), MAX_LINE)
  }
}

function attributesOf(attributes: unknown): [string, string][] {
  return firstOf(attributes, MAX_ATTRIBUTES).map((attribute) => {
    const { key, value } = fieldsOf(attribute)
    return [shortText(key, 100), shortText(plainOf(value), MAX_VALUE)]
  })
}

/** A value of OTLP as text. */
function plainOf(value: unknown): string {
  const { stringValue, intValue, doubleValue, boolValue, arrayValue } = fieldsOf(value)
  for (const plain of [stringValue, intValue, doubleValue, boolValue])
    if (plain !== undefined && typeof plain !== 'object') return String(plain)
  const { values } = fieldsOf(arrayValue)
  return firstOf(values, MAX_ATTRIBUTES)
    .map((each) => shortText(fieldsOf(each)['stringValue'] ?? '', MAX_VALUE))
    .join(', ')
}

function idOf(id: unknown, form: RegExp): string {
  const text = typeof id === 'string' ? id.toLowerCase() : ''
  return form.test(text) ? text : ''
}

/** Converts nanoseconds to milliseconds. OTLP sends them as text, because they are too large for a number. */
function millisecondsOf(nanoseconds: unknown): number {
  const text = typeof nanoseconds === 'string' ? nanoseconds : String(finite(nanoseconds))
  if (!/^\d{1,20}$/.test(text)) return finite(Number(text)) / 1e6
  // Whole milliseconds and fractions are converted separately, because together they have more digits than a number
  // can hold.
  return Number(text.slice(0, -6) || '0') + Number(text.slice(-6)) / 1e6
}
