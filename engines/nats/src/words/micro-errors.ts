/** Errors in the headers that NATS's micro services use. */
import { type CarriedHeaders, textOf, type Words } from '@elysia-microservices/engine'
import { type MessageHeaders, RpcError } from '@elysia-microservices/transport/kit'

const CODE = 'Nats-Service-Error-Code'
const MESSAGE = 'Nats-Service-Error'

/** Status codes as in HTTP, by the code of an error: other micro services answer with such codes. */
const STATUSES: Readonly<Record<string, number>> = {
  VALIDATION: 422,
  BAD_REQUEST: 400,
  UNAUTHENTICATED: 401,
  PATTERN_NOT_FOUND: 404,
  REJECTED: 503,
  TIMEOUT: 504
}

/** The error with which another micro service has answered; `undefined`: the answer is not an error. */
export function readMicroError(headers: MessageHeaders, words: Words): RpcError | undefined {
  const code = headers[CODE]
  if (code === undefined || code === '') return undefined
  return new RpcError({ code, message: headers[MESSAGE] ?? '' }, textOf(words))
}

/** The headers of an answer that is an error. */
export function errorHeaders(code: string | undefined, message: string): CarriedHeaders {
  return { [CODE]: String(STATUSES[code ?? ''] ?? 500), [MESSAGE]: message.replace(/\s+/g, ' ') }
}
