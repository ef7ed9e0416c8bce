/** What a measurement ran on: without this its figures cannot be compared with anyone's. */
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus, release, totalmem, type } from 'node:os'
import { join } from 'node:path'
import type { Pinning } from '../process/pinning.ts'

export interface Environment {
  readonly cpu: string
  readonly cpuCount: number
  readonly memoryMb: number
  readonly kernel: string
  /** The runtime of the client, and of the server where that is Bun too. */
  readonly bun: string
  /** The runtime of the server, where that is Node. */
  readonly node: string | null
  readonly packages: Readonly<Record<string, string | null>>
  readonly pinning: Pinning
}

const PACKAGES = [
  'elysia-microservices',
  '@elysia-microservices/transport',
  'elysia',
  '@nestjs/microservices',
  '@nestjs/core',
  '@nestjs/common',
  'rxjs',
  'hdr-histogram-js'
]

export function describeEnvironment(pinning: Pinning, node: string | null): Environment {
  const processors = cpus()
  return {
    cpu: processors[0]?.model.trim() ?? 'unknown',
    cpuCount: processors.length,
    memoryMb: Math.round(totalmem() / 1024 / 1024),
    kernel: `${type()} ${release()}`,
    bun: Bun.version,
    node,
    packages: Object.fromEntries(PACKAGES.map((name) => [name, installedVersion(name)])),
    pinning
  }
}

/** Read from the package's folder: not every package exports its package.json. */
function installedVersion(name: string): string | null {
  const folders = createRequire(import.meta.url).resolve.paths(name) ?? []
  const file = folders.map((folder) => join(folder, name, 'package.json')).find((path) => existsSync(path))
  if (file === undefined) return null
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version?: string }
  return version ?? null
}
