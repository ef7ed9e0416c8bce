/** Controllers made by awilix: `bun with-awilix.ts`. */
import { asClass, createContainer } from 'awilix'
import { microservice } from 'elysia-microservices'
import { MessagePattern, Payload } from 'elysia-microservices/nest'
import { Greetings } from './greetings.ts'

class GreetingsController {
  readonly #greetings: Greetings

  // awilix passes an object with everything that is registered.
  constructor({ greetings }: { greetings: Greetings }) {
    this.#greetings = greetings
  }

  // awilix does not call NestJS's lifecycle hooks; the service calls them.
  onModuleInit() {
    console.log(this.#greetings.greet('operator'))
  }

  @MessagePattern('greet')
  greet(@Payload('name') name: string) {
    return this.#greetings.greet(name)
  }
}

const container = createContainer().register({ greetings: asClass(Greetings).singleton() })

const service = await microservice({
  transport: 'tcp',
  port: Number(process.env['PORT'] ?? 4000),
  controllers: [GreetingsController],
  nest: { resolve: (type) => container.build(type) }
}).listen()

console.log(`listening on port ${service.address?.port}`)
process.once('SIGTERM', () => void service.stop())
