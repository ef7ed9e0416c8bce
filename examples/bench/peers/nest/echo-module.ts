/** The Nest application of two targets: it differs in nothing but its transport. */
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

    // Nest does not iterate what a handler returns: `from` makes a generator something that it streams.
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
