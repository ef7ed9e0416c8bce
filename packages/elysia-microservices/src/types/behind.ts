/** The message type for handlers that are written outside of their service's chain. */
import type { ScopeOf } from './carried.ts'
import type { Message } from './message.ts'
import type { Empty, Extras, ScopeTypes } from './scope.ts'
import type { Chosen, Guarding } from './service.ts'

/**
 * The type of a handler's message with the fields that the hooks and guards of a service add. Use it for handlers
 * that are written as separate functions. Only a service that adds these fields accepts such a handler.
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
  Chosen<undefined, Guarding<Scope, Empty>, 'headers', Message['headers'], 'output'>
> &
  Extras<Scope>
