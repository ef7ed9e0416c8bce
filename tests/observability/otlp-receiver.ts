/** A receiver of OTLP over HTTP, like the one of a collector: keeps the spans that it receives. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

type Value = {
  readonly stringValue?: string
  readonly intValue?: number | string
  readonly boolValue?: boolean
}

interface OtlpSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly attributes: readonly { readonly key: string; readonly value: Value }[]
  readonly status: { readonly code?: number }
}

/** A span, as it was received. */
export interface ReceivedSpan {
  readonly traceId: string
  readonly spanId: string
  /** Empty for a root span. */
  readonly parentSpanId: string
  readonly name: string
  readonly kind: 'internal' | 'server' | 'client' | 'producer' | 'consumer'
  readonly attributes: Readonly<Record<string, unknown>>
  /** Whether the status of the span is an error. */
  readonly isError: boolean
}

const KINDS = ['internal', 'internal', 'server', 'client', 'producer', 'consumer'] as const
const ERROR = 2

/** Starts to listen on a free port. */
export async function startReceiver() {
  const spans: ReceivedSpan[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const { resourceSpans } = JSON.parse(Buffer.concat(chunks).toString()) as {
      resourceSpans: { scopeSpans: { spans: OtlpSpan[] }[] }[]
    }
    for (const { scopeSpans } of resourceSpans)
      for (const scope of scopeSpans) spans.push(...scope.spans.map(readSpan))
    response.setHeader('content-type', 'application/json').end('{}')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`,
    spans,
    stop() {
      server.close()
      server.closeAllConnections()
    }
  }
}

function readSpan(span: OtlpSpan): ReceivedSpan {
  const { traceId, spanId, parentSpanId = '', name, kind, attributes, status } = span
  const values = attributes.map(({ key, value }) => [
    key,
    value.stringValue ?? value.boolValue ?? Number(value.intValue)
  ])
  return {
    traceId,
    spanId,
    parentSpanId,
    name,
    kind: KINDS[kind] ?? 'internal',
    attributes: Object.fromEntries(values) as Record<string, unknown>,
    isError: status.code === ERROR
  }
}
