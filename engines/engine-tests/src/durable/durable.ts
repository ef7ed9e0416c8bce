/** Durable events over every engine that stores them: what the library guarantees. */
import { describe } from 'node:test'
import type { EngineUnderTest } from '../engine-under-test.ts'
import { casesOver } from '../needs.ts'
import { backlogs } from './backlog.ts'
import { failing } from './failing.ts'
import { groups } from './groups.ts'
import { losses } from './losses.ts'
import { processes } from './processes.ts'
import { durableScene } from './scene.ts'
import { starting } from './starting.ts'
import { storing } from './storing.ts'

/** Declares the cases of this folder over an engine, which starts once for all of them. */
export function durableEvents(under: EngineUnderTest): void {
  casesOver(under, 'durable events', ['stores'], (engine, caseOf) => {
    describe(`a durable event over ${engine.title}`, () => {
      const scene = durableScene(engine)
      for (const story of [storing, groups, backlogs, failing, starting, processes, losses])
        story(scene, caseOf)
    })
  })
}
