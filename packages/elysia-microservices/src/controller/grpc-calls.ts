/** Calls handlers of Nest's decorators for gRPC, which get data, metadata and call. */
import { EventEmitter } from 'node:events'
import { Duplex } from 'node:stream'
import type { GrpcForm } from '@elysia-microservices/transport/nest'
import { grpcInvocations } from '@elysia-microservices/transport/nest-grpc'
import { Observable } from 'rxjs'
import type { Message } from '../types/message.ts'
import type { Arguments, Invoke } from './parameters.ts'

const invocation = grpcInvocations({ Observable, EventEmitter, Duplex })

/** The function of a message around a handler. @param run its pipeline */
export function grpcCalls(form: GrpcForm, run: Invoke): (message: Message) => unknown {
  return (message) => {
    const { args, answer } = invocation(form, message)
    return answer(run(args as Arguments))
  }
}
