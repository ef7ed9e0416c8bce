/** Kafka clients as NestJS applications write them, over `MicroserviceClient`: what NestJS's own client sends is sent. */
import 'reflect-metadata'
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { FakeCluster, kafkaBy } from '@elysia-microservices/kafka/testing'
import {
  MicroserviceClient,
  type MicroserviceContext,
  MicroserviceServer
} from '@elysia-microservices/nestjs'
import { Controller, type INestMicroservice, Inject, Injectable, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import {
  type ClientKafka,
  ClientsModule,
  Ctx,
  EventPattern,
  MessagePattern,
  type MicroserviceOptions,
  Payload
} from '@nestjs/microservices'
import { KafkaRequestSerializer } from '@nestjs/microservices/serializers/kafka-request.serializer.js'
import { connect } from 'elysia-microservices/client'
import { firstValueFrom, type Observable } from 'rxjs'

/** The things that a handler has got: the data, the key, and the headers. */
type Got = readonly [data: unknown, key: unknown, headers: unknown]

const noted: Got[] = []
let told = () => {}

function got(data: unknown, context: MicroserviceContext): Got {
  const { key, headers } = context.getMessage()
  return [data, key, headers]
}

@Controller()
class UsersController {
  @MessagePattern('users.add')
  add(@Payload() data: unknown, @Ctx() context: MicroserviceContext): Got {
    return got(data, context)
  }

  @EventPattern('users.noted')
  noted(@Payload() data: unknown, @Ctx() context: unknown): void {
    noted.push(got(data, context as MicroserviceContext))
    told()
  }
}

const cluster = new FakeCluster({ heartbeatInterval: 50 })
const transport = (partitions = 1) =>
  kafkaBy(cluster.driver, { url: [`127.0.0.1:${cluster.port}`], advertised: false, partitions })

/** A provider as users of NestJS write it for Kafka. */
@Injectable()
class UsersGateway {
  readonly kafka: ClientKafka
  constructor(@Inject('KAFKA') kafka: ClientKafka) {
    this.kafka = kafka
  }

  async onModuleInit(): Promise<void> {
    this.kafka.subscribeToResponseOf('users.add')
    await this.kafka.connect()
  }
}

@Module({
  imports: [
    ClientsModule.register([
      { name: 'KAFKA', customClass: MicroserviceClient, options: { transport: transport() } }
    ])
  ],
  controllers: [UsersController],
  providers: [UsersGateway]
})
class UsersModule {}

class Named {
  readonly name = 'Ada'
  toString(): string {
    return this.name
  }
}

describe('a Kafka client of a Nest application over MicroserviceClient', () => {
  let app: INestMicroservice
  let client: ClientKafka

  before(async () => {
    app = await NestFactory.createMicroservice<MicroserviceOptions>(UsersModule, {
      strategy: new MicroserviceServer({ name: 'users', transport: transport(2) }),
      logger: false
    })
    await app.listen()
    client = app.get(UsersGateway).kafka
  })
  after(() => app.close())

  const add = (data: unknown): Promise<Got> =>
    firstValueFrom(client.send('users.add', data) as Observable<Got>)

  it('sends { key, value, headers } as a message, with the key and the headers that Nest would write', async () => {
    for (const given of [
      { key: 'k', value: { a: 1 }, headers: { 'x-a': '1' } },
      { key: 'k', value: { a: 1 } },
      { value: 'text' },
      { value: [1] },
      { key: 7, value: 'x' },
      { key: { id: 1 }, value: 'x' },
      { key: new Named(), value: 'x' },
      { key: Buffer.from('bytes'), value: Buffer.from('more'), headers: { h: Buffer.from('bytes') } },
      { key: null, value: 'x' },
      { key: 'only' },
      { a: 1 },
      ['key', 'value'],
      'text'
    ]) {
      // The serializer changes what it is given.
      const { key, value, headers } = new KafkaRequestSerializer().serialize({ ...Object(given) }) as {
        readonly [name: string]: unknown
      }
      const text = (one: unknown) => (one === undefined || one === null ? undefined : String(one))
      const [data, gotKey, gotHeaders] = await add(given)
      assert.equal(gotKey ?? undefined, text(key), JSON.stringify(given))
      if (!Array.isArray(given) && typeof given === 'object')
        assert.equal(
          typeof data === 'string' ? data : data === null ? undefined : JSON.stringify(data),
          text(value)
        )
      else assert.deepEqual(data, given)
      const texts = Object.entries(Object(headers) as object).map(([name, one]) => [name, text(one)])
      assert.deepEqual(gotHeaders, Object.fromEntries(texts))
    }
  })

  it('emits them, one or a batch, to the partition of their key', async () => {
    noted.length = 0
    const all = new Promise<void>((resolve) => {
      told = () => noted.length === 4 && resolve()
    })
    await firstValueFrom(client.emit('users.noted', { key: 'a', value: { n: 0 } }), {
      defaultValue: undefined
    })
    client.emitBatch('users.noted', { messages: [1, 2, 3].map((n) => ({ key: 'a', value: { n } })) })
    await all
    assert.deepEqual(
      noted,
      [0, 1, 2, 3].map((n) => [{ n }, 'a', {}])
    )
    const ends = cluster.topics.get('users.noted')?.logs.map(({ end }) => Number(end))
    assert.deepEqual(ends?.toSorted(), [0, 4])
  })

  it('refuses what Nest would send in another way, before anything is sent', async () => {
    await assert.rejects(add({ value: 1, unit: 'kg' }), /data.unit would not be sent: put it into value/)
    await assert.rejects(add({ value: 1, partition: 2 }), /the key chooses the partition/)
    await assert.rejects(
      add({ key: Buffer.from([0xff]), value: 1 }),
      /data.key has bytes that are not a text/
    )
  })

  it('leaves clients of connect() alone, whose data are data', async () => {
    const own = connect({ transport: transport() })
    const data = { key: 'k', value: { a: 1 } }
    assert.deepEqual((await own.request<Got>('users.add', data))[0], data)
    await own.close()
  })
})
