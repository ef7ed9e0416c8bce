/**
 * Nest's HttpException, thrown by pipes, guards, controllers and functional handlers, becomes the answer over each
 * transport.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  BadRequestException,
  Catch,
  HttpException,
  InternalServerErrorException,
  NotFoundException,
  ParseIntPipe,
  UseFilters,
  UseGuards
} from '@nestjs/common'
import { RpcException } from '@nestjs/microservices'
import { from, throwError } from 'rxjs'
import { connect, type UntypedClient } from '../client/index.ts'
import { type Message, microservice, type RpcError } from '../index.ts'
import { Cleanups, newWay, WAYS } from '../testing/ways.ts'
import { EventPattern, MessagePattern, Payload } from './decorators.ts'

class Nobody {
  canActivate() {
    return false
  }
}

@Catch(TypeError)
class OtherFilter {
  catch(error: TypeError) {
    return throwError(() => ({ code: 'TYPE', message: error.message }))
  }
}

class Controller {
  @MessagePattern('piped')
  piped(@Payload(ParseIntPipe) id: number) {
    return id
  }
  @MessagePattern('missing')
  missing() {
    throw new NotFoundException('There is no user 7')
  }
  @MessagePattern('invalid')
  async invalid() {
    throw new BadRequestException(['name is too short', 'age is no number'])
  }
  @MessagePattern('fields')
  fields() {
    throw new RpcException({ code: 'INVALID', fields: ['name'] })
  }
  @MessagePattern('message and field')
  messageAndField() {
    throw new RpcException({ code: 'TAKEN', message: 'It is taken', id: 7 })
  }
  @UseGuards(Nobody)
  @MessagePattern('refused')
  refused() {}

  @UseGuards(Nobody)
  @UseFilters(OtherFilter)
  @MessagePattern('refused before a filter')
  refusedBeforeFilter() {}

  @MessagePattern('stream')
  stream() {
    return from(
      (async function* () {
        yield 1
        throw new HttpException({ left: 0 }, 409)
      })()
    )
  }
  @EventPattern('event')
  event() {
    throw new BadRequestException('of an event')
  }
}

const EXPECTED: readonly [
  pattern: string,
  data: unknown,
  code: string,
  message: string,
  details?: unknown
][] = [
  ['piped', 'x', 'BAD_REQUEST', 'Validation failed (numeric string is expected)'],
  ['missing', 0, 'NOT_FOUND', 'There is no user 7'],
  [
    'invalid',
    0,
    'BAD_REQUEST',
    'name is too short; age is no number',
    { messages: ['name is too short', 'age is no number'] }
  ],
  // Not an HttpException, but an error with which Nest users report invalid fields of a DTO.
  ['fields', 0, 'INVALID', 'INVALID', { fields: ['name'] }],
  ['message and field', 0, 'TAKEN', 'It is taken', { id: 7 }],
  ['refused', 0, 'FORBIDDEN', 'Forbidden resource'],
  ['refused before a filter', 0, 'FORBIDDEN', 'Forbidden resource'],
  ['stream', 0, 'CONFLICT', 'Http Exception', { left: 0 }],
  ['functional', 404, 'NOT_FOUND', 'of a handler'],
  ['functional', 503, 'SERVICE_UNAVAILABLE', 'of a handler'],
  ['functional', 500, 'INTERNAL', 'Internal server error']
]

for (const way of WAYS) {
  describe(`an HttpException of Nest's over ${way}`, () => {
    const cleanups = new Cleanups()
    const logged: unknown[] = []
    let client: UntypedClient
    before(async () => {
      const ends = newWay(way)
      const logger = { error: (_text: string, cause: unknown) => void logged.push(cause), warn() {} }
      const service = microservice({
        transport: ends.transport,
        controllers: [Controller],
        nest: { RpcException },
        logger
      }).message('functional', ({ data }: Message<number>) => {
        throw data === 500
          ? new InternalServerErrorException('secret')
          : new HttpException('of a handler', data)
      })
      cleanups.add(await service.listen())
      client = cleanups.add(connect(ends.client()) as never as UntypedClient)
    })
    after(() => cleanups.run())

    for (const [pattern, data, code, message, details] of EXPECTED) {
      it(`is ${code} to who asks '${pattern}' with ${JSON.stringify(data)}`, async () => {
        logged.length = 0
        const asked =
          pattern === 'stream' ? collect(client.stream(pattern, data)) : client.request(pattern, data)
        await assert.rejects(asked, (error: RpcError) => {
          assert.deepEqual([error.code, error.message, error.details], [code, message, details])
          return true
        })
        // Only errors that no caller is told about are logged.
        assert.equal(logged.length, code === 'INTERNAL' ? 1 : 0)
      })
    }

    it('of an event is logged', async () => {
      logged.length = 0
      await client.emit('event', 0)
      // This request is sent after the event, so it is answered after it.
      await assert.rejects(client.request('missing'))
      assert.deepEqual(
        logged.map((error) => (error as Error).message),
        ['of an event']
      )
    })
  })
}

async function collect(values: AsyncIterable<unknown>): Promise<void> {
  for await (const _value of values);
}
