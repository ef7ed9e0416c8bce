/** Hooks of a service around its controllers: this library's hooks are outside, Nest's pipeline is inside. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Catch, UseFilters, UseGuards, UseInterceptors, UsePipes } from '@nestjs/common'
import { t } from 'elysia'
import { type Observable, tap, throwError } from 'rxjs'
import { microservice, RpcError } from '../index.ts'
import { asking, happening } from '../testing/service.ts'
import type { RpcContext } from './context.ts'
import { Ctx, EventPattern, MessagePattern, Payload } from './decorators.ts'
import type { RpcExecutionContext } from './execution-context.ts'

let steps: string[] = []
let happened = happening()

class Guard {
  canActivate(context: RpcExecutionContext) {
    steps.push(`guard ${JSON.stringify(context.switchToRpc().getData())}`)
    return context.switchToRpc().getContext().headers['refused'] === undefined
  }
}
class Interceptor {
  intercept(_context: RpcExecutionContext, next: { handle(): Observable<unknown> }) {
    steps.push('interceptor')
    return next.handle().pipe(tap(() => steps.push('interceptor after')))
  }
}
class Pipe {
  transform(value: unknown, { type }: { type: string }) {
    if (type === 'body') steps.push('pipe')
    return value
  }
}
@Catch(RangeError)
class RangeFilter {
  catch(error: RangeError) {
    return throwError(() => ({ code: 'OUT_OF_RANGE', message: error.message }))
  }
}

@UseGuards(Guard)
@UseInterceptors(Interceptor)
@UsePipes(Pipe)
class Orders {
  @MessagePattern('total')
  total(@Payload() numbers: number[], @Ctx() { message }: RpcContext<{ user: string }>) {
    steps.push(`handler for ${message.user}`)
    return numbers.reduce((a, b) => a + b, 0)
  }
}

class Failing {
  @MessagePattern('fail')
  fail() {
    throw new TypeError('for the log')
  }
  @UseFilters(RangeFilter)
  @MessagePattern('filtered')
  filtered() {
    throw new RangeError('too many')
  }
  @UseGuards(Guard)
  @MessagePattern('guarded')
  guarded() {
    return 'done'
  }
  @EventPattern('event')
  event() {
    steps.push('event')
    happened.happen()
  }
}

const newService = (controllers: readonly object[]) =>
  microservice({
    transport: 'tcp',
    host: '127.0.0.1',
    port: 0,
    controllers,
    logger: { error: () => void steps.push('logged'), warn() {} }
  })

describe('hooks of a service with controllers', () => {
  it('run around the whole pipeline of Nest, which gets what they made of the message', async () => {
    steps = []
    const service = newService([Orders])
      .derive(() => void steps.push('derive'))
      .guard({ data: t.Array(t.Number()), response: t.String() })
      .resolve(({ headers }) => {
        steps.push('resolve')
        return { user: headers['user'] ?? 'nobody' }
      })
      .onBeforeHandle(() => void steps.push('beforeHandle'))
      .onAfterHandle(({ response }) => {
        steps.push('afterHandle')
        return `sum ${response}`
      })
    await asking(service, async (client) => {
      assert.equal(await client.request('total', [1, 2], { headers: { user: 'Ada' } }), 'sum 3')
      assert.deepEqual(steps, [
        ...['derive', 'resolve', 'beforeHandle', 'guard [1,2]', 'interceptor', 'pipe'],
        ...['handler for Ada', 'interceptor after', 'afterHandle']
      ])
      steps = []
      await assert.rejects(client.request('total', ['a']), { code: 'VALIDATION' })
      assert.deepEqual(steps, ['derive'])
    })
  })

  it('may answer instead of it', async () => {
    steps = []
    const service = newService([Orders]).onBeforeHandle(({ headers }) =>
      headers['token'] === 'x' ? undefined : new RpcError({ code: 'UNAUTHORIZED' })
    )
    await asking(service, async (client) => {
      await assert.rejects(client.request('total', [1]), { code: 'UNAUTHORIZED' })
      assert.deepEqual(steps, [])
      assert.equal(await client.request('total', [1], { headers: { token: 'x' } }), 1)
    })
  })

  it('get the errors that filters leave, and what filters made of others', async () => {
    const service = newService([Failing])
      .error('BROKEN', TypeError)
      .onError(({ code, error }) => {
        if (code === 'BROKEN') return `broken: ${error.message}`
        steps.push(JSON.stringify(error))
        return undefined
      })
    steps = []
    await asking(service, async (client) => {
      assert.equal(await client.request('fail'), 'broken: for the log')
      await assert.rejects(client.request('filtered'), { code: 'OUT_OF_RANGE', message: 'too many' })
      assert.deepEqual(steps, ['{"code":"OUT_OF_RANGE","message":"too many"}'])
      await assert.rejects(client.request('guarded', undefined, { headers: { refused: '1' } }), {
        message: 'Forbidden resource'
      })
    })
  })

  it('concern events, too', async () => {
    steps = []
    happened = happening()
    const service = newService([Failing]).onBeforeHandle(({ kind }) => void steps.push(`before ${kind}`))
    await asking(service, async (client) => {
      await client.emit('event')
      await happened.happened
      assert.deepEqual(steps, ['before event', 'event'])
    })
  })

  it('are those of its own chain, wherever they stand there, and the earlier ones of the chain that uses it', async () => {
    const mark = (name: string) => () => void steps.push(name)
    const inner = newService([Failing]).group('group', (group) => group.onBeforeHandle(mark('group')))
    const service = newService([])
      .onBeforeHandle(mark('outer before'))
      .use(inner)
      .onBeforeHandle(mark('outer after'))
    inner.onBeforeHandle(mark('inner, after it was used'))
    steps = []
    await asking(service, async (client) => {
      assert.equal(await client.request('guarded'), 'done')
      assert.deepEqual(steps, ['outer before', 'inner, after it was used', 'guard undefined'])
    })
  })

  it('of a prefix, stay behind the prefix', async () => {
    const service = newService([]).group('a', (group) =>
      group.derive(() => ({ by: 'group' })).use(newService([Failing]).onAfterHandle(() => 'changed'))
    )
    await asking(service, async (client) => assert.equal(await client.request('a.guarded'), 'changed'))
  })
})
