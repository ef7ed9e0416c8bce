/** Classes with decorators, made from plain data. */
import 'reflect-metadata'
import {
  Controller,
  type ExceptionFilter,
  ParseIntPipe,
  type Type,
  UseFilters,
  UseGuards,
  UseInterceptors,
  UsePipes
} from '@nestjs/common'
import * as nest from '@nestjs/microservices'
import { RpcException } from '@nestjs/microservices'
import * as own from 'elysia-microservices/nest'
import { concat, delay, EMPTY, from, of, throwError } from 'rxjs'
import type { Globals } from '../../conformance/harness/servers.ts'
import {
  DomainError,
  DomainFilter,
  EverythingFilter,
  Field,
  NamedGuard,
  NamedInterceptor,
  NamedPipe,
  RpcFilter,
  SpecialError,
  SpecialFilter,
  steps
} from '../../conformance/pipeline/parts.ts'
import type { Controlled, FilterName, Method, Parts } from './case.ts'

const DECORATORS = { nest, own } as const
/** The package whose decorators of patterns and parameters the classes have. */
export type Decorators = keyof typeof DECORATORS

const NEW_FILTER: Readonly<Record<FilterName, () => ExceptionFilter>> = {
  domain: () => new DomainFilter(),
  special: () => new SpecialFilter(),
  rpc: () => new RpcFilter(),
  everything: () => new EverythingFilter()
}

/** Does what the field `handler` of the data asks for. */
function act(wish: unknown): unknown {
  steps.push('handler')
  switch (wish) {
    case 'throw':
      throw new RpcException('thrown by the handler')
    case 'throw object':
      throw new RpcException({ code: 'NO', details: [1] })
    case 'reject':
      return Promise.reject(new RpcException({ code: 7 }))
    case 'fail':
      throw new Error('secret')
    case 'error':
      return throwError(() => new RpcException('error of the handler'))
    case 'error of text':
      return throwError(() => 'a text')
    case 'late error':
      return concat(
        of(1, 2),
        throwError(() => new DomainError('late'))
      )
    case 'late values':
      return of(1, 2).pipe(delay(1))
    case 'stream':
      return from(['a', null, 'c'])
    case 'stream of arrays':
      return of([1, 2], [[3]], [])
    case 'empty stream':
      return EMPTY
    case 'promise of stream':
      return Promise.resolve(of('a', 'b'))
    case 'promise':
      return Promise.resolve({ promised: true })
    case 'promise of nothing':
      return Promise.resolve()
    case 'nothing':
      return undefined
    case 'null':
      return null
    case 'zero':
      return 0
    case 'array':
      return [1, 'b', null]
    case 'nested arrays':
      return [[1, [2]], [], [[[3]]]]
    case 'large':
      return 'x'.repeat(70_000)
    case 'special':
      throw new SpecialError('special')
    default:
      if (typeof wish === 'string' && wish.startsWith('domain')) throw new DomainError(wish.slice(7))
      if (wish === 'stream domain') return throwError(() => new DomainError('anything'))
      return 'done'
  }
}

/** Parts of a pipeline for a whole application. */
export function globalsOf({ guards, pipes, interceptors, filters }: Parts): Globals {
  return {
    guards: guards.map((name) => new NamedGuard(name)),
    pipes: pipes.map((name) => new NamedPipe(name)),
    interceptors: interceptors.map((name) => new NamedInterceptor(name)),
    filters: filters.map((name) => NEW_FILTER[name]())
  }
}

function decoratorsOf(parts: Parts): (ClassDecorator & MethodDecorator)[] {
  const { guards = [], pipes = [], interceptors = [], filters = [] } = globalsOf(parts)
  return [
    ...(guards.length > 0 ? [UseGuards(...guards)] : []),
    ...(pipes.length > 0 ? [UsePipes(...pipes)] : []),
    ...(interceptors.length > 0 ? [UseInterceptors(...interceptors)] : []),
    ...(filters.length > 0 ? [UseFilters(...filters)] : [])
  ]
}

export function classesOf({ controllers }: Controlled, decorators: Decorators): Type[] {
  const silent = class Silent {
    echo(data: unknown) {
      return data
    }
  }
  decorate(silent.prototype, 'echo', [DECORATORS[decorators].MessagePattern('echo')])
  Controller()(silent)
  const made = controllers.map(({ parts, methods }) => {
    class Base {}
    class Derived extends Base {}
    for (const method of methods) addMethod(method.isInherited ? Base : Derived, method, decorators)
    for (const decorator of decoratorsOf(parts)) decorator(Derived)
    Controller()(Derived)
    return Derived
  })
  return [silent, ...made]
}

function addMethod(type: Type, { name, parts, parameters }: Method, decorators: Decorators): void {
  const { MessagePattern, Payload, Ctx } = DECORATORS[decorators]
  const isPlain = parameters.length === 0
  const run = (...given: unknown[]) => {
    const seen = isPlain ? given.slice(0, 1) : given
    const data = seen.find((one) => Object(one).handler !== undefined) as { handler?: unknown } | undefined
    if (data !== undefined) return act(data.handler)
    steps.push('handler')
    return seen.map((one) =>
      Object(one).getPattern === undefined ? (one ?? null) : Object(one).getPattern()
    )
  }
  Object.defineProperty(type.prototype, name, {
    value: { [name]: (...given: unknown[]) => run(...given) }[name],
    writable: true,
    configurable: true
  })
  const at = [...parameters.entries()].map(([index, parameter]): ParameterDecorator => {
    const made = {
      data: () => Payload(),
      field: () => Payload('a'),
      'piped field': () => Payload('a', new NamedPipe('own')),
      number: () => Payload('n', ParseIntPipe),
      context: () => Ctx(),
      decorated: () => Field('a')
    }[parameter]()
    return (target, key) => made(target, key, index)
  })
  for (const decorator of at) decorator(type.prototype as object, name, 0)
  decorate(type.prototype as object, name, [...decoratorsOf(parts), MessagePattern(name)])
}

function decorate(target: object, name: string, all: readonly MethodDecorator[]): void {
  const descriptor = Object.getOwnPropertyDescriptor(target, name) as PropertyDescriptor
  for (const decorator of all) decorator(target, name, descriptor)
}
