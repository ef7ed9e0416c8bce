/** How callers request users: over HTTP with a connection each, or by messages on one connection that all share. */
import { ClientProxyFactory, Transport } from '@nestjs/microservices'
import { connect } from 'elysia-microservices/client'
import { firstValueFrom } from 'rxjs'
import { describe } from '../../load/meter.ts'
import type { SuiteTarget } from '../catalog.ts'
import { requestBytes } from '../load/requests.ts'
import { HOST } from '../server.ts'
import type { Asked } from '../workloads.ts'
import { HttpConnection } from './http-connection.ts'

/**
 * The outcome of a request. `refused`: the caller was told to try again; `failed`: any other outcome without an
 * answer.
 */
export interface Outcome {
  readonly kind: 'answered' | 'refused' | 'failed'
  /** The message of the refusal or of the error. */
  readonly told: string
}

export interface Askers {
  /** Makes the request of a caller; never rejects. */
  ask(caller: number): Promise<Outcome>
  close(): Promise<void>
}

export const LIMIT = 100
/** Milliseconds that a caller waits for an answer. */
export const DEADLINE = 10_000

const ANSWERED: Outcome = { kind: 'answered', told: '' }
const silent = { error: () => {}, warn: () => {} }
const failed = (told: string): Outcome => ({ kind: 'failed', told })

export function openAskers(
  { ask = 'http', refused }: SuiteTarget,
  port: number,
  callers: number,
  asked: Asked
): Askers {
  if (ask === 'http') return askHttp(port, callers, asked)
  return ask === 'message' ? askService(port, refused) : askNest(port)
}

function askHttp(port: number, callers: number, asked: Asked): Askers {
  const request = requestBytes(asked, HOST, port)
  const connections = Array.from({ length: callers }, () => new HttpConnection(HOST, port, request))
  const ask = async (caller: number): Promise<Outcome> => {
    const connection = connections[caller]!
    const timer = setTimeout(() => connection.close(), DEADLINE)
    try {
      const { status, body } = await connection.ask()
      if (status === 200)
        return isList(body) ? ANSWERED : failed(`a list of another length: ${body.slice(0, 60)}`)
      const told = `${status} ${body.replaceAll(/\s+/g, ' ').slice(0, 100)}`
      return { kind: status === 429 || status === 503 ? 'refused' : 'failed', told }
    } catch (error) {
      return failed(describe(error))
    } finally {
      clearTimeout(timer)
    }
  }
  return {
    ask,
    close: async () => {
      for (const connection of connections) connection.close()
    }
  }
}

/** Whether an answer is a list of users, without parsing it: what callers do with an answer is not measured. */
const isList = (body: string): boolean => body.split('"email":').length === LIMIT + 1

/** Refusals are reported at once, avoided by leases, or retried until the deadline. */
function askService(port: number, refused: SuiteTarget['refused']): Askers {
  const client = connect({
    port,
    logger: silent,
    timeout: DEADLINE,
    retry:
      refused === 'retry'
        ? { attempts: 1_000, minDelay: 50, maxDelay: 1_000, budget: { ratio: 1_000, perSecond: 1_000_000 } }
        : false,
    ...(refused === 'lease' && { rsocket: { lease: true } })
  })
  return {
    ask: async () => {
      try {
        const users = await client.request<readonly unknown[]>('users.list', { limit: LIMIT })
        return users.length === LIMIT ? ANSWERED : failed(`a list of ${users.length}`)
      } catch (error) {
        const { code } = error as { code?: string }
        const isRefusal = code === 'REJECTED' || code === 'OVERLOADED'
        return { kind: isRefusal ? 'refused' : 'failed', told: `${code}: ${describe(error)}` }
      }
    },
    close: () => client.close()
  }
}

function askNest(port: number): Askers {
  const client = ClientProxyFactory.create({ transport: Transport.TCP, options: { host: HOST, port } })
  return {
    ask: async () => {
      let timer: ReturnType<typeof setTimeout> | undefined
      const late = new Promise<never>((_, reject) => {
        timer = setTimeout(() => reject(new Error(`no answer within ${DEADLINE / 1000} s`)), DEADLINE)
      })
      try {
        const asked = firstValueFrom(client.send<readonly unknown[]>('users.list', { limit: LIMIT }))
        const users = await Promise.race([asked, late])
        return users.length === LIMIT ? ANSWERED : failed(`a list of ${users.length}`)
      } catch (error) {
        return failed(describe(error))
      } finally {
        clearTimeout(timer)
      }
    },
    close: async () => {
      await client.close()
    }
  }
}
