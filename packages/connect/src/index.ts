/** The public interface. Users cannot import anything that is not listed here. */
export { connectRpc } from './connect-rpc.ts'
export { connectCors } from './cors.ts'
export type {
  ConnectRpcContext,
  ConnectRpcLimits,
  ConnectRpcMethod,
  ConnectRpcOptions,
  ConnectRpcServices
} from './options.ts'
export type { ConnectCode } from './protocol/codes.ts'
