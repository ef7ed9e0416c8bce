/** Makes the error of a call that has failed at the other side. */
import { errorOf, RejectedError, RpcError } from '@elysia-microservices/transport/kit'
import { fromBase64 } from './base64.ts'
import { GrpcStatus, nameOfStatus } from './codes.ts'
import { readDetails } from './details.ts'
import { readPercent } from './percent.ts'

/**
 * Makes the error of a status of gRPC. Errors of services of this library get their class and code back; those of others
 * have the name of the status as their code.
 * @param message the field `grpc-message`
 * @param encoded the field `grpc-status-details-bin`; `undefined`: there is none
 */
export function errorOfStatus(status: number, message: string, encoded?: string): RpcError {
  const bytes = encoded === undefined ? undefined : fromBase64(encoded)
  const read = bytes && readDetails(bytes)
  const { reason, details } = read ?? {}
  const code = reason ?? nameOfStatus(status)
  // The details have the whole text, of which the field may have the beginning only.
  const said = read?.message || readPercent(message)
  const received = { grpcStatus: status, code, message: said, details }
  const sentence = said === '' ? code : said
  if (reason === undefined) return new RpcError({ code, message: sentence, details }, received)
  // Only a service itself sends both: see `failureOf`.
  if (reason === 'REJECTED' && status === GrpcStatus.UNAVAILABLE) return new RejectedError(sentence, received)
  return errorOf(code, sentence, details, received)
}
