/** `echo.proto` as gRPC's own loader for Node reads it. */
import { loadSync } from '@grpc/proto-loader'
import { ECHO_PROTO } from '../peers/grpc/echo-methods.ts'

/** The options with which every peer reads it. */
export const LOADER = { keepCase: true, longs: Number, defaults: true }

export const loadEchoProto = () => loadSync(ECHO_PROTO, LOADER)
