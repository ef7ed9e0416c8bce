/** Handlers behind every part of NestJS's pipeline. */
import { Controller, ParseIntPipe, UseFilters, UseGuards, UseInterceptors, UsePipes } from '@nestjs/common'
import {
  Ctx,
  EventPattern,
  MessagePattern,
  Payload,
  RpcException,
  type TcpContext
} from '@nestjs/microservices'
import { concat, from, of, throwError } from 'rxjs'
import {
  ClassGuard,
  ClassPipe,
  DescribingGuard,
  DomainError,
  DomainFilter,
  EverythingFilter,
  Field,
  NamedGuard,
  NamedInterceptor,
  NamedPipe,
  ReplacingGuard,
  RpcFilter,
  SpecialError,
  SpecialFilter,
  scope,
  steps
} from './parts.ts'

type Wishes = Readonly<Record<string, string>> | null

/** Does what the field `handler` of the data asks for. */
function act(wish: string | undefined): unknown {
  steps.push('handler')
  if (wish === 'throw') throw new RpcException('thrown by the handler')
  if (wish === 'reject') return Promise.reject(new RpcException({ code: 7 }))
  if (wish === 'fail') throw new Error('secret')
  if (wish === 'error') return throwError(() => new RpcException('error of the handler'))
  if (wish === 'late error')
    return concat(
      of(1, 2),
      throwError(() => new DomainError('late'))
    )
  if (wish === 'stream') return from(['a', 'b', 'c'])
  if (wish === 'promise of stream') return Promise.resolve(of('a', 'b'))
  if (wish === 'promise') return Promise.resolve('promised')
  if (wish === 'nothing') return undefined
  if (wish === 'scope') return scope.getStore() ?? 'no scope'
  if (wish === 'special') throw new SpecialError('special')
  if (wish?.startsWith('domain ')) throw new DomainError(wish.slice(7))
  if (wish?.startsWith('stream domain ')) return throwError(() => new DomainError(wish.slice(14)))
  return 'done'
}

@UseGuards(new NamedGuard('class'), ClassGuard)
@UseInterceptors(new NamedInterceptor('class'))
@UsePipes(new NamedPipe('class'))
@Controller()
export class FullController {
  @UseGuards(new NamedGuard('method'))
  @UseInterceptors(new NamedInterceptor('method'), new NamedInterceptor('second'))
  @UsePipes(new NamedPipe('method'), ClassPipe)
  @MessagePattern('full')
  full(@Payload() data: Wishes, @Ctx() _context: TcpContext) {
    return act(data?.['handler'])
  }

  @MessagePattern('pipes')
  pipes(@Payload('a', new NamedPipe('own'), ClassPipe) a: string, @Payload('b') b: string) {
    steps.push('handler')
    return { a, b }
  }

  @MessagePattern('undecorated')
  undecorated(data: string, more?: unknown) {
    steps.push('handler')
    return [data, more ?? null]
  }
}

@Controller()
export class PartsController {
  @MessagePattern('echo')
  echo(data: unknown) {
    return data
  }

  @UseGuards(ClassGuard)
  @MessagePattern('guard')
  guard(data: Wishes) {
    return act(data?.['handler'])
  }

  @UseGuards(DescribingGuard)
  @MessagePattern({ cmd: 'describe', v: 1 })
  describe(@Ctx() context: TcpContext & { user: string }) {
    return [context.user, context.getPattern(), context.getArgs().length, context.getArgByIndex(1)]
  }

  @UseGuards(ReplacingGuard)
  @UseFilters(DomainFilter)
  @MessagePattern('replace')
  replace(data: string) {
    if (data === 'replaced') throw new DomainError(data)
    return data
  }

  @UseInterceptors(new NamedInterceptor('only'))
  @MessagePattern('interceptor')
  interceptor(data: Wishes) {
    return act(data?.['handler'])
  }

  @MessagePattern('int')
  int(@Payload('n', ParseIntPipe) n: number) {
    return [n, typeof n]
  }

  @MessagePattern('custom')
  custom(@Field('a') a: unknown, @Field('later') later: string, @Field('n', ParseIntPipe) n: number) {
    return [a, later, n]
  }
}

@UseFilters(DomainFilter, new EverythingFilter())
@Controller()
export class FilterController {
  @UseFilters(SpecialFilter)
  @MessagePattern('filters')
  filters(data: Wishes) {
    return act(data?.['handler'])
  }

  @UseFilters(new DomainFilter(), RpcFilter)
  @UseGuards(ClassGuard)
  @MessagePattern('guarded')
  guarded(data: Wishes) {
    return act(data?.['handler'])
  }

  @UseFilters(DomainFilter)
  @UseInterceptors(new NamedInterceptor('only'))
  @MessagePattern('around')
  around(data: Wishes) {
    return act(data?.['handler'])
  }

  @UseGuards(ClassGuard)
  @UseFilters(DomainFilter)
  @UseInterceptors(new NamedInterceptor('only'))
  @UsePipes(new NamedPipe('event'))
  @EventPattern('event')
  event(data: Wishes) {
    return act(data?.['handler'])
  }
}
