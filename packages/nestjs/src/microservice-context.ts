/** The value of `@Ctx()`, and of `switchToRpc().getContext()`. */
import type { Peer } from '@elysia-microservices/transport/kit'
import { contextOver } from '@elysia-microservices/transport/nest'
import { type BaseRpcContext, TcpContext } from '@nestjs/microservices'

/**
 * Nest's class of contexts. The context extends it, so that `instanceof TcpContext` is true, which guards and libraries
 * check. The peer of this library is not a `TcpSocket`, so that type is left out.
 */
const ContextOfNest = TcpContext as unknown as new (
  args: [Peer | undefined, string, unknown]
) => BaseRpcContext<[Peer | undefined, string, unknown]>

/**
 * The context of one message. It has the methods of Nest's `TcpContext`: `getPattern()`, `getMetadata()`, `getArgs()`,
 * `getArgByIndex()`, `getSocketRef()`; of Nest's `NatsContext`: `getSubject()`, `getHeaders()`; and those of its other
 * contexts, such as `getChannelRef()` to settle the message by hand.
 */
export class MicroserviceContext extends contextOver(ContextOfNest) {}
