/** The status of a request as its RPC system says it: the attribute `rpc.status_code`. */
import { codeOfError, nameOfStatus, RPC_CODES, type RpcCode } from '@elysia-microservices/transport/kit'
import { CONNECT, GRPC } from './attributes.ts'

/** Codes that only this library knows: of refusals, and of failures at the caller, whose client makes the status. */
const OWN: Readonly<Record<string, RpcCode>> = {
  CONNECTION: 'unavailable',
  OVERLOADED: 'resource_exhausted',
  PROTOCOL: 'internal',
  REJECTED: 'unavailable'
}

/**
 * The status for an outcome: the code of this library, or the code that gRPC and Connect have for it.
 * @param system that of the message; `undefined`: this library
 */
export function statusOf(system: string | undefined, code: string): string {
  if (code === 'OK' || (system !== GRPC && system !== CONNECT)) return code
  const found = codeOfError({ code }, OWN)
  return system === CONNECT ? found : nameOfStatus(RPC_CODES[found].number)
}
