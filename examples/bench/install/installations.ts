/** The packages that users of each peer install, server and client, for everything that the bench measures. */
import type { TargetName } from '../peers/targets.ts'
import type { Installation } from '../report/schema.ts'
import { installedSize } from './size.ts'

const NEST = ['@nestjs/core', '@nestjs/common', '@nestjs/microservices', 'reflect-metadata', 'rxjs']

const INSTALLATIONS: Partial<Readonly<Record<TargetName, readonly string[]>>> = {
  elysia: ['elysia-microservices', 'elysia', '@sinclair/typebox'],
  nest: NEST,
  'nest-strategy': [...NEST, '@elysia-microservices/nestjs'],
  moleculer: ['moleculer'],
  grpc: ['@grpc/grpc-js', '@grpc/proto-loader'],
  connect: ['@connectrpc/connect', '@connectrpc/connect-node', '@bufbuild/protobuf'],
  trpc: ['@trpc/server', '@trpc/client', 'ws'],
  'rsocket-js': ['rsocket-core', 'rsocket-flowable', 'rsocket-tcp-client', 'rsocket-tcp-server']
}

/** Measures the sizes of all installations on this machine. */
export async function measureInstallations(): Promise<Installation[]> {
  const all: Installation[] = []
  for (const [target, names] of Object.entries(INSTALLATIONS)) {
    all.push({ target, ...(await installedSize(names)) })
  }
  return all
}
