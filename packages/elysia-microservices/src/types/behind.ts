/** The message type of handlers that are written apart from their service. */
import type { AnySchema, OutputOf } from '../schema/schema-types.ts'
import type { ScopeOf } from './carried.ts'
import type { Message } from './message.ts'
import type { Extras, ScopeTypes } from './scope.ts'

/**
 * The message of a handler behind a service, with the fields that hooks and guards of the service add. For functions that
 * are written apart; a service that does not add it does not take them.
 * @example
 * ```ts
 * import { type MessageBehind, memory, microservice } from 'elysia-microservices'
 *
 * const auth = microservice({ transport: memory() })
 *   .resolve({ as: 'scoped' }, ({ headers }) => ({ user: headers['user'] ?? 'nobody' }))
 * const greet = ({ user, data }: MessageBehind<typeof auth, string>) => `${data}, ${user}`
 * microservice({ transport: 'tcp' }).use(auth).message('greet', greet)
 * ```
 */
export type MessageBehind<Service, Data = unknown> = BehindScope<ScopeOf<Service>, Data>

type BehindScope<Scope extends ScopeTypes, Data> = Message<
  Data,
  Scope['schema']['headers'] extends AnySchema ? OutputOf<Scope['schema']['headers']> : Message['headers']
> &
  Extras<Scope>
