/** The public interface. Users cannot import anything that is not listed here. */

export type { RpcCode as ConnectCode } from '@elysia-microservices/protobuf/rpc'
export { connectRpc } from './connect-rpc.ts'
export { connectCors } from './cors.ts'
export type {
  ConnectRpcContext,
  ConnectRpcLimits,
  ConnectRpcMethod,
  ConnectRpcOptions
} from './options.ts'
