/** The Nest application of two targets: it differs in nothing but its transport. */
import 'reflect-metadata'
import { Controller, Module } from '@nestjs/common'
import { MessagePattern, Payload } from '@nestjs/microservices'

@Controller()
class EchoController {
  @MessagePattern('echo')
  echo(@Payload() data: unknown): unknown {
    return data
  }
}

@Module({ controllers: [EchoController] })
export class EchoModule {}
