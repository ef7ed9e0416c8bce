/** The services that a file exports, or the description of one that a file has. */
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { DescribedService } from '@elysia-microservices/protobuf'
import { describe, OptionError } from '@elysia-microservices/transport/kit'

/** A service, with the name of its export. */
export interface Exported {
  readonly name: string
  readonly described: DescribedService
}

/**
 * Imports a file and describes the services that it exports; a file with JSON is a description itself.
 * @throws {OptionError} the file does not exist, cannot be imported, or exports no service
 */
export async function servicesIn(file: string): Promise<Exported[]> {
  const path = resolve(file)
  if (!existsSync(path)) throw new OptionError('file', `There is no file ${file}`)
  if (path.endsWith('.json')) return [{ name: '', described: descriptionIn(path, file) }]
  const module = await imported(realpathSync(path), file)
  const services = new Map<unknown, Exported>()
  for (const [name, value] of Object.entries(module))
    if (isService(value) && !services.has(value)) services.set(value, { name, described: value.describe() })
  if (services.size === 0)
    throw new OptionError(
      'file',
      `${file} exports no service; export one: export const orders = microservice({ … })`
    )
  return [...services.values()]
}

function descriptionIn(path: string, file: string): DescribedService {
  try {
    const description = JSON.parse(readFileSync(path, 'utf8')) as DescribedService
    if (Array.isArray(Object(description).handlers)) return description
  } catch (error) {
    throw new OptionError('file', `${file} is not JSON: ${(error as Error).message}`, error)
  }
  throw new OptionError(
    'file',
    `${file} is no description of a service, as the command describe --json prints it`
  )
}

/** Only newer releases of Node can import TypeScript without a loader. */
async function imported(path: string, file: string): Promise<object> {
  try {
    if (process.versions.bun !== undefined || !/\.[cm]?ts$/.test(path))
      return (await import(pathToFileURL(path).href)) as object
    const { createJiti } = await import('jiti')
    return await createJiti(import.meta.url, { fsCache: false, interopDefault: false }).import<object>(path)
  } catch (error) {
    const reason = error instanceof Error ? error.message : describe(error)
    throw new OptionError('file', `${file} cannot be imported: ${reason}`, error)
  }
}

function isService(value: unknown): value is { describe(): DescribedService } {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  const { describe: own, listen, handlers } = value as Readonly<Record<string, unknown>>
  return typeof own === 'function' && typeof listen === 'function' && handlers !== null
}
