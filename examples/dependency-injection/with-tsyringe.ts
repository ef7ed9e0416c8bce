/** Controllers made by tsyringe: `bun with-tsyringe.ts`. */
import 'reflect-metadata'
import { microservice } from 'elysia-microservices'
import { MessagePattern, Payload } from 'elysia-microservices/nest'
import { container, injectable } from 'tsyringe'
import { Greetings } from './greetings.ts'

@injectable()
class GreetingsController {
  readonly #greetings: Greetings

  // tsyringe reads the types of the parameters from the metadata of the class, so they must be imported as values.
  constructor(greetings: Greetings) {
    this.#greetings = greetings
  }

  @MessagePattern('greet')
  greet(@Payload('name') name: string) {
    return this.#greetings.greet(name)
  }
}

const service = await microservice({
  transport: 'tcp',
  port: Number(process.env['PORT'] ?? 4000),
  controllers: [GreetingsController],
  nest: { resolve: (type) => container.resolve(type) }
}).listen()

console.log(`listening on port ${service.address?.port}`)
process.once('SIGTERM', () => void service.stop())
