/** The controller class of a NestJS user, for services of this project over any transport. */
import { EventPattern, MessagePattern, Payload } from 'elysia-microservices/nest'
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
