/** A Kafka server for one target: a broker that is its own controller, in a new folder. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../process/free-port.ts'
import { type EngineServer, startEngine } from '../engine-server.ts'

/** The folder in which this project's tests keep Kafka. */
const OF_TESTS = 'elysia-microservices/kafka-4.3.1/jars'

/**
 * Starts a server with the jars in `KAFKA_LIBS`, or those of this project's tests.
 * @param port 0: any free port
 * @throws {BenchError} the server does not listen
 */
export async function startKafka(host: string, port: number): Promise<EngineServer> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-kafka-'))
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  process.once('exit', remove)
  const file = join(folder, 'server.properties')
  const controller = await freePort(host)
  const cache = process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache')
  const jars = process.env['KAFKA_LIBS'] ?? join(cache, OF_TESTS)
  const java = ['-Xms512m', '-Xmx512m', '-cp', join(jars, '*')]
  const server = await startEngine('java', host, port, {
    flags(wanted) {
      const properties = {
        'process.roles': 'broker,controller',
        'node.id': 1,
        'controller.quorum.voters': `1@${host}:${controller}`,
        'controller.listener.names': 'CONTROLLER',
        listeners: `PLAINTEXT://${host}:${wanted},CONTROLLER://${host}:${controller}`,
        'log.dirs': join(folder, 'data'),
        'offsets.topic.replication.factor': 1,
        'group.initial.rebalance.delay.ms': 0
      }
      const lines = Object.entries(properties).map(([name, value]) => `${name}=${value}\n`)
      writeFileSync(file, lines.join(''))
      const format = ['kafka.tools.StorageTool', 'format', '-t', 'MkU3OEVBNTcwNTJENDM2Qk', '-c', file]
      spawnSync('java', [...java, ...format])
      return [...java, 'kafka.Kafka', file]
    },
    advice: "Install Java 17 or later, and set KAFKA_LIBS to the folder 'libs' of Kafka 4."
  })
  return {
    port: server.port,
    async stop() {
      await server.stop()
      remove()
    }
  }
}
