/** Requests whose message is in the URL: Connect's GET, for methods without side effects. */
import { CallFailure, fromBase64 } from '@elysia-microservices/protobuf/rpc'
import { type Form, formInUrl } from './form.ts'

const utf8 = new TextEncoder()

/** The parts of such a request. */
export interface MessageInUrl {
  readonly form: Form
  readonly message: Uint8Array
  /** The name of the message's compression; `null` if it is not compressed. */
  readonly compression: string | null
}

/**
 * Reads the query of a request (https://connectrpc.com/docs/protocol#unary-get-request).
 * @throws {CallFailure} `invalid_argument`: a parameter is missing or wrong
 */
export function messageInUrl(query: URLSearchParams): MessageInUrl {
  const version = query.get('connect')
  if (version !== null && version !== 'v1') throw invalid('connect', 'v1')
  const form = formInUrl(query.get('encoding'))
  if (form === undefined) throw invalid('encoding', 'json or proto')
  const text = query.get('message')
  if (text === null) throw invalid('message', 'the message of the request')
  const isBase64 = query.get('base64') === '1'
  const message = isBase64 ? fromBase64(text) : utf8.encode(text)
  if (message === undefined) throw invalid('message', 'base64, because base64=1 is set')
  return { form, message, compression: query.get('compression') }
}

function invalid(name: string, expected: string): CallFailure {
  return new CallFailure('invalid_argument', `The parameter ${name} of the URL must be ${expected}`)
}
