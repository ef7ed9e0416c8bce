/** The peers of gRPC's checks, and the runtimes of our own ends: their commands, and their toolchains. */
import { execFile, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { oldestNode } from '@elysia-microservices/test-support'
import { RUNTIMES } from '../../support/runtimes.ts'
import { testsFolder } from '../../workspace.ts'
import { buildOnce } from '../toolchains.ts'

const run = promisify(execFile)
const folderOf = (name: string) => join(testsFolder, 'interop/grpc/peers', name)

/** A program that is one end. */
export interface End {
  readonly name: string
  /** The program that this machine lacks; `undefined`: none. */
  readonly missing: string | undefined
  /** Gets ready, once; returns the command, without the arguments. */
  prepare(): Promise<readonly string[]>
  /** The arguments with which it answers. `undefined`: it cannot. */
  readonly serve?: readonly string[]
  /** The arguments with which it calls a port. `undefined`: it cannot. */
  readonly call?: (port: string) => readonly string[]
}

/** A peer, and which of our ends it meets: over gRPC, or on the port of an app. */
export interface Peer extends End {
  readonly meets: 'grpc' | 'app'
  /** Checks that the protocol cannot have. */
  readonly leftOut: readonly string[]
}

const works = (program: string, parameter: string) => spawnSync(program, [parameter]).status === 0
const missingOf = (program: string, parameter: string, name: string) =>
  works(program, parameter) ? undefined : name

function once<Result>(make: () => Promise<Result>): () => Promise<Result> {
  let made: Promise<Result> | undefined
  return () => {
    made ??= make()
    return made
  }
}

const inGo = once(async () => {
  const folder = folderOf('go')
  const bin = join(folder, 'bin')
  const { stdout: version } = await run('go', ['version'])
  const sources = ['go.mod', 'go.sum', 'main.go', 'grpc.go', 'connect.go', 'checks.go', 'answers.go']
  await buildOnce(bin, [version], sources, folder, async () => {
    await run('go', ['build', '-o', join(bin, 'checks'), '.'], { cwd: folder })
  })
  return [join(bin, 'checks')]
})

const inPython = once(async () => {
  const folder = folderOf('python')
  const environment = join(folder, '.venv')
  const interpreter = join(environment, 'bin/python')
  const { stdout: version } = await run('python3', ['-c', 'import sys; print(sys.executable, sys.version)'])
  await buildOnce(environment, [version, folder], ['requirements.txt'], folder, async () => {
    await run('python3', ['-m', 'venv', '--clear', environment])
    const install = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '-r']
    await run(interpreter, [...install, join(folder, 'requirements.txt')])
  })
  return [interpreter, join(folder, 'checks.py')]
})

const inJava = once(async () => {
  const folder = folderOf('java')
  const target = join(folder, 'target')
  const { stdout: version } = await run('javac', ['-version'])
  await buildOnce(target, [version, folder], ['pom.xml', 'src'], folder, async () => {
    await run('mvn', ['-q', '-B', '-f', join(folder, 'pom.xml'), 'process-classes'])
  })
  return ['java', '-cp', `${join(target, 'classes')}:${join(target, 'lib', '*')}`, 'checks.Peer']
})

const goMissing = missingOf('go', 'version', 'Go (go)')
/** Values both ways at the same time need HTTP/2. */
const ONE_WAY = ['ping-pong', '300 KB both ways']

function connectGo(protocol: string, meets: Peer['meets']): Peer {
  return {
    name: `connect-go 1.21.1, ${protocol}`,
    meets,
    leftOut: meets === 'app' ? ONE_WAY : [],
    missing: goMissing,
    prepare: inGo,
    ...(meets === 'grpc' && { serve: ['serve', 'connect-go'] }),
    call: (port) => ['call', 'connect-go', port, protocol]
  }
}

const ofGrpc = {
  meets: 'grpc',
  leftOut: [],
  serve: ['serve'],
  call: (port: string) => ['call', port]
} as const

export const PEERS: readonly Peer[] = [
  {
    ...ofGrpc,
    name: 'grpc-js 1.14.7',
    missing: undefined,
    // Compiled, because it is made for Node.
    prepare: async () => [oldestNode(), join(testsFolder, 'dist/interop/grpc/peers/grpc-js.js')]
  },
  {
    ...ofGrpc,
    name: 'grpc-go 1.85.0',
    missing: goMissing,
    prepare: inGo,
    serve: ['serve', 'grpc-go'],
    call: (port) => ['call', 'grpc-go', port]
  },
  {
    ...ofGrpc,
    name: 'grpcio 1.85.1 (C core)',
    missing: missingOf('python3', '--version', 'Python (python3)'),
    prepare: inPython
  },
  {
    ...ofGrpc,
    name: 'grpc-java 1.85.1',
    missing: missingOf('javac', '-version', 'JDK (javac)') ?? missingOf('mvn', '-version', 'Maven (mvn)'),
    prepare: inJava
  },
  connectGo('grpc', 'grpc'),
  connectGo('grpc-web', 'app'),
  connectGo('connect', 'app')
]

/** Our ends. */
export const OURS: readonly End[] = RUNTIMES.map(({ name, commandOf }) => ({
  name,
  missing: undefined,
  prepare: () => commandOf('interop/grpc/ours'),
  serve: ['serve'],
  call: (port) => ['call', port]
}))
