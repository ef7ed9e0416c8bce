/** `elysia-microservices migrate` moves the example of a NestJS application, which then does the same as before. */
import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, describe, it } from 'node:test'
import { promisify } from 'node:util'
import { MicroserviceClient } from '@elysia-microservices/nestjs'
import { freePort } from '@elysia-microservices/test-support'
import { type ClientProxy, ClientProxyFactory, Transport } from '@nestjs/microservices'
import { firstValueFrom } from 'rxjs'
import { bun, rootFolder } from '../workspace.ts'

const run = promisify(execFile)
const order = { customer: 'Ada', items: [{ article: 'tea', quantity: '2' }] }

describe('migrate', () => {
  let folder: string
  const programs: ChildProcess[] = []

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'migrate-'))
    cpSync(join(rootFolder, 'examples/migrate-from-nest/src'), join(folder, 'src'), { recursive: true })
    symlinkSync(join(rootFolder, 'node_modules'), join(folder, 'node_modules'))
    const compilerOptions = { experimentalDecorators: true, emitDecoratorMetadata: true }
    const tsconfig = { extends: join(rootFolder, 'tsconfig.base.json'), compilerOptions }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig))
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', dependencies: {} }))
  })
  after(async () => {
    for (const program of programs) {
      program.kill()
      await once(program, 'close')
    }
    rmSync(folder, { recursive: true })
  })

  function migrate(...flags: string[]): Promise<{ readonly stdout: string; readonly stderr: string }> {
    return run(bun, [join(rootFolder, 'tools/cli/src/main.ts'), 'migrate', folder, ...flags])
  }

  function sources(): readonly string[] {
    return readdirSync(join(folder, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => readFileSync(join(folder, 'src', name), 'utf8'))
  }

  async function started(name: string, env: Readonly<Record<string, string>>): Promise<number> {
    const port = await freePort()
    const program = spawn(bun, [join(folder, 'src', name)], {
      env: { ...process.env, ...env, PORT: String(port) },
      stdio: ['ignore', 'pipe', 'inherit']
    })
    programs.push(program)
    for await (const line of createInterface(program.stdout))
      if (line === `listening on port ${port}`) return port
    throw new Error(`${name} has ended before it listened`)
  }

  it('shows the diff, writes it when told to, and then finds nothing', async () => {
    const old = sources()
    const { stdout, stderr } = await migrate()
    assert.match(stdout, /^-import \{ ClientsModule, Transport \} from '@nestjs\/microservices'$/m)
    assert.match(stderr, /package\.json needs: npm install @elysia-microservices\/nestjs/)
    assert.deepEqual(sources(), old)
    assert.equal((await migrate('--write')).stdout, stdout)
    assert.notDeepEqual(sources(), old)
    assert.deepEqual(await migrate(), { stdout: '', stderr: 'There is nothing to move\n' })
  })

  it('leaves an application that answers its callers', async () => {
    const stock = await started('stock.ts', {})
    const port = await started('before.ts', { STOCK_PORT: String(stock) })
    const options = { host: '127.0.0.1', port }
    const clients: ClientProxy[] = [
      ClientProxyFactory.create({ transport: Transport.TCP, options }),
      new MicroserviceClient(options)
    ]
    for (const [index, client] of clients.entries()) {
      const placed: { readonly id: number } = await firstValueFrom(client.send({ cmd: 'place-order' }, order))
      assert.equal(placed.id, index + 1)
      await client.close()
    }
  })
})
