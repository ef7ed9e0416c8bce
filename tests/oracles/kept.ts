/** Cases that were once different, with the oracle that found them, and the fault. */
interface Kept {
  readonly of: string
  readonly fault: string
  readonly given: unknown
}

const NONE = { hooks: [], macros: [], byName: false }

export const KEPT: readonly Kept[] = [
  {
    of: 'beside',
    fault: 'A schema in data made headers with the same schema refuse what it does not name',
    given: {
      steps: [
        { do: 'message', options: { ...NONE, schemas: { headers: 'c' } }, isLate: false, isWrapped: false }
      ],
      layers: [
        {
          before: [
            { do: 'message', options: { ...NONE, schemas: { data: 'c' } }, isLate: false, isWrapped: false }
          ],
          around: 'group',
          after: []
        }
      ],
      inputs: [{ data: {}, headers: { b: '1', c: '1' } }]
    }
  }
]
