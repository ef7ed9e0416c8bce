/** A button for an action that cannot be undone. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks'

/** A button that asks for confirmation. */
export function Confirmed(props: {
  readonly label: string
  readonly question: string
  readonly isBusy: boolean
  readonly act: () => void
}) {
  const { label, question, isBusy, act } = props
  const [isAsking, setAsking] = useState(false)
  const [first, keep] = [useRef<HTMLButtonElement>(null), useRef<HTMLButtonElement>(null)]
  const isKept = useRef(false)
  // The focus moves before the next key press. It does not move to the button that acts, because a key that is
  // held down would press that button.
  useLayoutEffect(() => {
    if (isAsking) keep.current?.focus()
    else if (isKept.current) first.current?.focus()
    isKept.current = false
  }, [isAsking])
  const keepIt = () => {
    isKept.current = true
    setAsking(false)
  }
  if (!isAsking)
    return (
      <button type="button" ref={first} aria-disabled={isBusy} onClick={() => setAsking(true)}>
        {label}
      </button>
    )
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset has a look of its own
    <span
      class="confirm"
      role="group"
      aria-label={question}
      onKeyDown={({ key }) => {
        if (key === 'Escape') keepIt()
      }}
    >
      <button
        type="button"
        class="danger"
        onClick={() => {
          setAsking(false)
          act()
        }}
      >
        {label} permanently
      </button>
      <button type="button" ref={keep} onClick={keepIt}>
        Keep
      </button>
    </span>
  )
}
