/** The headers and statuses of responses. */
import { type CallFailure, CODES, type HeaderList, SUPPORTED } from '@elysia-microservices/protobuf/rpc'
import { failureJson } from '../protocol/connect-json.ts'
import type { Form } from '../protocol/form.ts'

/** Tells browsers to use only the declared content type, because an answer may contain anything. */
const NO_SNIFFING = ['x-content-type-options', 'nosniff'] as const

/** The headers of a response with one message. */
export function singleHeaders(form: Form, isCompressed: boolean): HeaderList {
  return [
    ['content-type', form.contentType],
    ['accept-encoding', SUPPORTED],
    NO_SNIFFING,
    ...(isCompressed ? ([['content-encoding', SUPPORTED]] as const) : [])
  ]
}

/** The headers of a response with envelopes. @param mayCompress whether envelopes may be compressed */
export function streamHeaders({ protocol, contentType }: Form, mayCompress: boolean): HeaderList {
  const prefix = protocol === 'grpc-web' ? 'grpc' : 'connect'
  const encoding = protocol === 'grpc-web' ? 'grpc-encoding' : 'connect-content-encoding'
  return [
    ['content-type', contentType],
    [`${prefix}-accept-encoding`, SUPPORTED],
    NO_SNIFFING,
    ['cache-control', 'no-cache'],
    // Tells nginx, and proxies that understand the same header, not to buffer messages.
    ['x-accel-buffering', 'no'],
    ...(mayCompress ? ([[encoding, SUPPORTED]] as const) : [])
  ]
}

/** A list as the headers of a response. */
export function headersOf(list: HeaderList): Headers {
  const headers = new Headers()
  for (const [name, value] of list) headers.append(name, value)
  return headers
}

/**
 * A failure as a whole response, as Connect answers a call with one message.
 * @param own headers of the handler
 */
export function failedResponse(failure: CallFailure, own: HeaderList = []): Response {
  // Not `Response.json()`, whose content type has a charset under Bun that some clients do not expect.
  return new Response(JSON.stringify(failureJson(failure)), {
    status: CODES[failure.code].status,
    headers: headersOf([['content-type', 'application/json'], NO_SNIFFING, ...own])
  })
}
