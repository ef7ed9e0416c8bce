/** Parts of NestJS's pipeline that record when they run. NestJS and this library run the same classes. */
import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type ArgumentMetadata,
  type ArgumentsHost,
  type CallHandler,
  type CanActivate,
  Catch,
  createParamDecorator,
  type ExceptionFilter,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  type PipeTransform,
  type PreRequestHook
} from '@nestjs/common'
import { BaseRpcExceptionFilter, RpcException, type TcpContext } from '@nestjs/microservices'
import { catchError, EMPTY, map, type Observable, of, tap, throwError } from 'rxjs'

/** The parts that have run, in order. */
export const steps: string[] = []

/** A call with this data runs like any other call, but is not recorded. */
export const SILENT = 'silent'

function note(data: unknown, step: string): void {
  if (typeof data !== 'string' || !data.startsWith(SILENT)) steps.push(step)
}

/** A text that interceptors leave for the handler. */
export const scope = new AsyncLocalStorage<string>()

/** Results that say nothing, by name. */
export const NOTHINGS = {
  nothing: undefined,
  null: null,
  zero: 0,
  'empty text': '',
  false: false,
  NaN: Number.NaN
}

/** Passes, refuses or fails a call: the field of the data with this guard's name decides. */
export class NamedGuard implements CanActivate {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
  canActivate(context: ExecutionContext) {
    const data: unknown = context.switchToRpc().getData()
    const wish = (data as Record<string, string> | null)?.[this.name]
    note(data, `guard ${this.name}`)
    if (wish === 'refuse') return false
    if (wish === 'refuse later') return Promise.resolve(false)
    if (wish === 'refuse by Observable') return of(true, false)
    if (wish === 'refuse by undefined') return undefined as unknown as boolean
    if (wish === 'refuse by a promise of nothing') return Promise.resolve(undefined as unknown as boolean)
    if (wish === 'refuse by a promise of an Observable') return Promise.resolve(of(false)) as never
    if (wish === 'pass by a promise of an Observable') return Promise.resolve(of(true)) as never
    if (wish === 'pass by a text') return 'yes' as never
    if (wish === 'fail by an empty Observable') return EMPTY
    if (wish === 'pass later') return Promise.resolve(true)
    if (wish === 'pass by Observable') return of(false, true)
    if (wish === 'throw') throw new RpcException({ from: `guard ${this.name}` })
    if (wish === 'fail') throw new Error('secret')
    return true
  }
}

/** A guard that is registered as a class. */
@Injectable()
export class ClassGuard extends NamedGuard {
  constructor() {
    super('class guard')
  }
}

/** Records what the execution context contains. */
export class DescribingGuard implements CanActivate {
  canActivate(context: ExecutionContext) {
    const rpc = context.switchToRpc()
    steps.push(
      JSON.stringify([
        ...[context.getType(), context.getClass().name, context.getHandler().name],
        ...[context.getArgs().length, context.getArgByIndex(0), rpc.getData()],
        rpc.getContext<TcpContext>().getPattern(),
        rpc.getContext<TcpContext>().getMetadata() ?? null,
        context.getArgByIndex(1) === rpc.getContext()
      ])
    )
    Object.assign(rpc.getContext<object>(), { user: 'Ada' })
    return true
  }
}

/** Replaces the data. */
export class ReplacingGuard implements CanActivate {
  canActivate(context: ExecutionContext) {
    context.getArgs()[0] = 'replaced'
    return true
  }
}

/**
 * Records when a call begins and ends. Maps it, answers itself, fails or repeats: the field of the data with this
 * interceptor's name decides.
 */
export class NamedInterceptor implements NestInterceptor {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
  intercept(
    context: ExecutionContext,
    next: CallHandler
  ): Observable<unknown> | Promise<Observable<unknown>> {
    const data = context.switchToRpc().getData<Record<string, string> | null>()
    const wish = data?.[this.name]
    note(data, `before ${this.name}`)
    if (wish === 'answer') return of(`answer of ${this.name}`)
    if (wish === 'throw') throw new RpcException(`thrown by ${this.name}`)
    if (wish === 'error') return throwError(() => new RpcException(`error of ${this.name}`))
    if (wish === 'later') return Promise.resolve(next.handle())
    if (wish === 'array') return [1, 2] as never
    if (wish === 'number') return 7 as never
    if (wish === 'nothing') return undefined as never
    if (wish === 'nothing later') return Promise.resolve(undefined) as never
    if (wish === 'nothing after next') return void next.handle() as never
    if (wish === 'completed at once') return EMPTY
    if (wish === 'promise of promise') return Promise.resolve(Promise.resolve(next.handle()))
    if (wish === 'catch')
      return next.handle().pipe(catchError((error: Error) => of(`caught ${error.message}`)))
    if (wish === 'scope') return scope.run(this.name, () => next.handle())
    if (wish === 'map') return next.handle().pipe(map((value) => ({ by: this.name, value })))
    return next.handle().pipe(tap({ next: () => note(data, `after ${this.name}`) }))
  }
}

/** A pre-request hook that passes, answers or fails: the field `name` of the data decides. */
export const namedHook =
  (name: string): PreRequestHook =>
  (context, next) => {
    const data = context.switchToRpc().getData<Record<string, string> | null>()
    const wish = data?.[name]
    note(data, `hook ${name} ${context.getClass().name}.${context.getHandler().name}`)
    if (wish === 'answer') return of(`answer of ${name}`)
    if (wish === 'throw') throw new RpcException(`thrown by ${name}`)
    if (wish === 'error') return throwError(() => new RpcException(`error of ${name}`))
    if (wish === 'number') return 7 as never
    if (wish === 'nothing') return undefined as never
    if (wish === 'nothing later') return Promise.resolve(undefined) as never
    if (wish === 'completed at once') return EMPTY
    if (wish === 'later') return Promise.resolve().then(next) as never
    if (wish === 'catch') return next().pipe(catchError((error: Error) => of(`caught ${error.message}`)))
    if (wish === 'map') return next().pipe(map((value) => ({ by: name, value })))
    if (wish === 'scope') scope.enterWith(name)
    return next().pipe(tap({ next: () => note(data, `after hook ${name}`) }))
  }

/** Records the arguments of the pipe, and marks text. */
export class NamedPipe implements PipeTransform {
  readonly name: string
  constructor(name: string) {
    this.name = name
  }
  transform(value: unknown, { metatype, type, data }: ArgumentMetadata) {
    note(value, `pipe ${this.name} ${type} ${String(data)} ${metatype?.name}`)
    if (value === `fail in ${this.name}`) throw new RpcException(`${this.name} refuses`)
    if (value === `nothing of ${this.name}`) return undefined
    if (value === `nothing later of ${this.name}`) return Promise.resolve(undefined)
    return typeof value === 'string' ? `${value} ${this.name}` : value
  }
}

/** A pipe that is registered as a class, and answers with a promise. */
@Injectable()
export class ClassPipe extends NamedPipe {
  constructor() {
    super('class pipe')
  }
  override async transform(value: unknown, metadata: ArgumentMetadata) {
    return super.transform(value, metadata)
  }
}

/** Errors of the application. */
export class DomainError extends Error {}
export class SpecialError extends DomainError {}

function describe(host: ArgumentsHost): string {
  return `${host.getType()} ${JSON.stringify(host.switchToRpc().getData())} ${host.getArgs().length}`
}

/** Results of filters, by the message of the error. */
const FILTER_ANSWERS: Readonly<Record<string, () => unknown>> = {
  ...Object.fromEntries(Object.entries(NOTHINGS).map(([name, nothing]) => [name, () => nothing])),
  text: () => 'abc',
  number: () => 7,
  promise: () => Promise.resolve('promised'),
  'promise of nothing': () => Promise.resolve(undefined),
  'rejected promise': () => Promise.reject(new RpcException('the filter fails')),
  observable: () => of('recovered', 'twice'),
  'completed at once': () => EMPTY,
  'promise of observable': () => Promise.resolve(of('recovered')),
  'promise of failure': () => Promise.resolve(throwError(() => ({ code: 'LATER' }))),
  'thenable that throws': () => ({
    // biome-ignore lint/suspicious/noThenProperty: that is the case
    get then() {
      throw new RpcException('the getter throws')
    }
  }),
  'error text': () => throwError(() => 'text'),
  'error object': () => throwError(() => ({ code: 'DOMAIN' })),
  'error Error': () => throwError(() => new Error('not for callers')),
  'error RpcException': () => throwError(() => new RpcException('x'))
}

@Catch(DomainError)
export class DomainFilter implements ExceptionFilter {
  catch(error: DomainError, host: ArgumentsHost): unknown {
    steps.push(`DomainFilter ${describe(host)}`)
    const answer = FILTER_ANSWERS[error.message]
    return answer === undefined ? throwError(() => ({ status: 'domain', message: error.message })) : answer()
  }
}

@Catch(SpecialError)
export class SpecialFilter implements ExceptionFilter {
  catch() {
    steps.push('SpecialFilter')
    return throwError(() => 'special')
  }
}

@Catch(RpcException)
export class RpcFilter implements ExceptionFilter {
  catch(error: RpcException) {
    steps.push(`RpcFilter ${error.message}`)
    return throwError(() => ({ filtered: error.getError() }))
  }
}

@Catch()
export class EverythingFilter extends BaseRpcExceptionFilter {
  override catch(error: unknown, host: ArgumentsHost) {
    steps.push('EverythingFilter')
    return super.catch(error as RpcException, host)
  }
}

/** A parameter decorator of the user. */
export const Field = createParamDecorator((name: string, context: ExecutionContext) => {
  const data = context.switchToRpc().getData<Record<string, unknown> | null>()
  steps.push(`field ${name} of ${context.getClass().name}.${context.getHandler().name}`)
  return name === 'later' ? Promise.resolve('late') : data?.[name]
})
