/** The common part of peers with Protocol Buffers: `echo.proto`, and which of its messages carries a payload. */
import { join } from 'node:path'
import { loadSync } from '@grpc/proto-loader'
import type { ShapeName } from '../payload/payload.ts'
import { BENCH_FOLDER } from '../process/folder.ts'

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

export const loadEchoProto = () =>
  loadSync(join(BENCH_FOLDER, 'others', 'echo.proto'), { keepCase: true, longs: Number, defaults: true })
