/** Errors as NATS's micro services say them, in headers. */
import { type CarriedHeaders, textOf, type Words } from '@elysia-microservices/transport/engine'
import { type Headers, RpcError } from '@elysia-microservices/transport/kit'

const CODE = 'Nats-Service-Error-Code'
const MESSAGE = 'Nats-Service-Error'

/** Statuses as HTTP has them, which is what other micro services answer with. */
const STATUSES: Readonly<Record<string, number>> = {
  VALIDATION: 422,
  BAD_REQUEST: 400,
  UNAUTHENTICATED: 401,
  PATTERN_NOT_FOUND: 404,
  REJECTED: 503
}

/** The error that another micro service has answered with; `undefined`: it is none. */
export function readMicroError(headers: Headers, words: Words): RpcError | undefined {
  const code = headers[CODE]
  if (code === undefined || code === '') return undefined
  return new RpcError({ code, message: headers[MESSAGE] ?? '' }, textOf(words))
}

/** Headers that tell a caller of an error. */
export function errorHeaders(code: string | undefined, message: string): CarriedHeaders {
  return { [CODE]: String(STATUSES[code ?? ''] ?? 500), [MESSAGE]: message.replace(/\s+/g, ' ') }
}
