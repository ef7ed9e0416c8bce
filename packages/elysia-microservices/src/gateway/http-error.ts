/** Errors of Elysia itself, before a route's handler runs, in the shape of all others. */
import { RpcError } from '@elysia-microservices/transport'
import { ElysiaCustomStatusResponse, ParseError, ValidationError as SchemaError } from 'elysia'
import { pathPart } from '../schema/check.ts'
import { type ErrorAnswers, errorResponse } from './error-response.ts'

/** What an error means to the gateway: an error with a code; the error itself if it is not Elysia's. */
export function fromElysia(error: unknown): unknown {
  if (error instanceof ParseError) {
    return new RpcError({ code: 'PARSE', message: 'The body is not what its content type says' })
  }
  return error instanceof SchemaError ? fromSchemaError(error) : error
}

function fromSchemaError(error: SchemaError): RpcError {
  const { path = '', message = '', summary } = (error.all[0] ?? {}) as Partial<Record<string, string>>
  // A JSON pointer from TypeBox; keys with dots between them, or 'root', from a Standard Schema.
  const keys = path.startsWith('/') || path === '' ? path.split('/').slice(1) : path.split('.')
  const place = error.type + (path === 'root' ? '' : keys.map(pathPart).join(''))
  const expected = message.replace(/^Expected (value to be )?/, '')
  return new RpcError({
    code: 'VALIDATION',
    message: `${place}: ${message.startsWith('Expected') ? `expected ${expected}` : (summary ?? message)}`,
    details: { path: place, expected }
  })
}

/** The hook of a route that answers all errors but those with which hooks of the app have answered. */
export function answersErrors(answers: ErrorAnswers) {
  return ({ error, request }: { error: unknown; request: Request }): Response | undefined => {
    if (error instanceof ElysiaCustomStatusResponse) return undefined
    return errorResponse(answers.of(fromElysia(error), describeRequest(request)))
  }
}

/** A request in the log: without its query, which may tell what is nobody's business. */
export function describeRequest(request: Request): string {
  return `${request.method} ${new URL(request.url).pathname}`
}
