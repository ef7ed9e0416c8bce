/** Transactions of Prisma, which has its own connections and hides its driver. */
import type { Connection, Row } from './database.ts'

/** The client that Prisma passes to the function of `$transaction`. */
export interface PrismaTransaction {
  $queryRawUnsafe(query: string, ...values: unknown[]): PromiseLike<unknown>
}

/** Whether a value is a client of Prisma, in a transaction or not. */
export function isPrisma(sql: unknown): sql is PrismaTransaction {
  return typeof sql === 'object' && sql !== null && typeof Reflect.get(sql, '$queryRawUnsafe') === 'function'
}

/** Whether a client of Prisma is not in a transaction. */
export function isPrismaClient(sql: PrismaTransaction): boolean {
  return typeof Reflect.get(sql, '$transaction') === 'function'
}

export function prismaConnection(sql: PrismaTransaction): Connection {
  return {
    query: async (text, values = []) => (await sql.$queryRawUnsafe(text, ...values)) as Row[]
  }
}
