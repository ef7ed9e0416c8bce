/** The NestJS application of two targets, which differ only in their transport. */
import 'reflect-metadata'
import { Controller, type DynamicModule } from '@nestjs/common'
import { EventPattern, MessagePattern, Payload } from '@nestjs/microservices'
import { from, type Observable } from 'rxjs'
import type { Work } from '../run-server.ts'

class EchoModule {}

export function echoModule(work: Work): DynamicModule {
  @Controller()
  class EchoController {
    @MessagePattern('echo')
    echo(@Payload() data: unknown): unknown {
      return work.answer(data)
    }

    // NestJS does not iterate over the result of a handler: `from` makes a generator an Observable, which NestJS
    // streams.
    @MessagePattern('count')
    count(@Payload() count: number): Observable<unknown> {
      return from(work.records(count))
    }

    @EventPattern('event')
    event(@Payload() _data: unknown): void {
      work.event()
    }
  }
  return { module: EchoModule, controllers: [EchoController] }
}
