/** The methods of `echo.proto`, and which of its messages carries a payload: the same for all peers over gRPC and Connect. */
import { join } from 'node:path'
import type { ShapeName } from '../../payload/payload.ts'
import { BENCH_FOLDER } from '../../process/folder.ts'

/** The file with the service `bench.Echo`. */
export const ECHO_PROTO = join(BENCH_FOLDER, 'others', 'echo.proto')

/** The methods that echo; `Count` streams. */
export const methodNames = ['Text', 'Bytes', 'Order', 'Rows', 'Record'] as const
export type MethodName = (typeof methodNames)[number]

/**
 * How a payload is sent: the method, and whether the payload is the field `value` of a message or the message itself.
 */
export interface Way {
  readonly method: MethodName
  readonly wrapped: boolean
}

export const WAYS: Readonly<Record<ShapeName, Way>> = {
  flat: { method: 'Text', wrapped: true },
  object: { method: 'Order', wrapped: false },
  document: { method: 'Order', wrapped: false },
  list: { method: 'Rows', wrapped: true },
  record: { method: 'Record', wrapped: false },
  binary: { method: 'Bytes', wrapped: true },
  large: { method: 'Text', wrapped: true }
}
