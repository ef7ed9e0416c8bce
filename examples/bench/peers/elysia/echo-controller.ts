/** The class a Nest user has, for our services by whatever their messages travel. */
import { EventPattern, MessagePattern, Payload } from 'elysia-microservices'
import type { Work } from '../run-server.ts'

export function echoController(work: Work) {
  class EchoController {
    @MessagePattern('echo')
    echo(@Payload() data: unknown): unknown {
      return work.answer(data)
    }

    @MessagePattern('count')
    count(@Payload() count: number): unknown {
      return work.records(count)
    }

    @EventPattern('event')
    event(@Payload() _data: unknown): void {
      work.event()
    }
  }
  return EchoController
}
