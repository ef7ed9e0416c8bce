/** The value of `@Ctx()`: the message, with the methods of Nest's contexts. */
import { contextOver } from '@elysia-microservices/transport/nest'
import type { Message } from '../types/message.ts'

class NoBase {}

const Context = contextOver(NoBase)

/**
 * The context of one message in a controller, with the methods of Nest's contexts: `getPattern()`, `getMetadata()`,
 * `getSocketRef()`, `getArgs()`, `getArgByIndex()`, and of other transports `getSubject()`, `getHeaders()`,
 * `getChannel()`, `getTopic()`. The type parameter names what hooks of the service have added to the message:
 * `RpcContext<{ user: User }>`.
 */
export class RpcContext<Extras extends object = object> extends Context<Message & Extras> {}
