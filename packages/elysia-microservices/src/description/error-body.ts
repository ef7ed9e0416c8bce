/** The body of a declared error as JSON Schema, for OpenAPI and AsyncAPI documents. */
import type { ErrorDescription } from './description.ts'
import type { JsonSchema } from './json-schema.ts'

/** The schema of an error's body: `{ code, message, details }`. */
export function errorBody(code: string, { details }: ErrorDescription): JsonSchema {
  return {
    type: 'object',
    required: ['code', 'message', ...(details === undefined ? [] : ['details'])],
    properties: {
      code: { type: 'string', enum: [code] },
      message: { type: 'string' },
      ...(details && { details })
    }
  }
}
