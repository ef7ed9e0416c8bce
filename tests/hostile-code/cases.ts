/** All cases of hostile code. */
import { answering } from './answering.ts'
import { calling } from './calling.ts'
import type { Case } from './case.ts'
import { encoding } from './encoding.ts'
import { entering } from './entering.ts'
import { leaving } from './leaving.ts'

export const CASES: readonly Case[] = [...answering, ...leaving, ...calling, ...entering, ...encoding]
