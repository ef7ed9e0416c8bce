/** Calls handlers of Nest's decorators for gRPC, which get data, metadata and call. */
import { EventEmitter } from 'node:events'
import { Duplex } from 'node:stream'
import { PatternNotFoundError } from '@elysia-microservices/transport/kit'
import type { GrpcForm, GrpcMessage } from '@elysia-microservices/transport/nest'
import { Observable } from 'rxjs'
import type { Message } from '../types/message.ts'
import type { Arguments, Invoke } from './parameters.ts'

const CLASSES = { Observable, EventEmitter, Duplex }

/** The function of a message around a handler. @param run its pipeline */
export function grpcCalls(form: GrpcForm, run: Invoke): (message: Message) => unknown {
  return (message: GrpcMessage) => {
    const { invokeGrpc } = message
    // Transports without methods have no calls that such a handler could get.
    if (invokeGrpc === undefined) throw PatternNotFoundError.of(message.pattern)
    const { args, answer } = invokeGrpc(CLASSES, form, message)
    return answer(run(args as Arguments))
  }
}
