import type { ReactNode } from 'react'
import { useCallback, useEffect, useId, useRef, useState } from 'react'
import { Button } from './button.tsx'

export type DialogState = { readonly isOpen: boolean; readonly open: () => void; readonly close: () => void }

export function useDialog(): DialogState {
  const [isOpen, setOpen] = useState(false)
  const open = useCallback(() => setOpen(true), [])
  const close = useCallback(() => setOpen(false), [])
  return { isOpen, open, close }
}

type Props = {
  readonly dialog: Pick<DialogState, 'isOpen' | 'close'>
  readonly title: string
  readonly place?: 'right' | 'middle'
  /** False for a dialog with a secret that is shown once: only its own button closes it. */
  readonly isClosable?: boolean
  readonly actions?: ReactNode
  readonly children: ReactNode
}

const FIELDS = 'input:enabled:not([type="checkbox"]), select:enabled, textarea:enabled'

/** Returns the focus to the element that had it, or to the screen when that element is gone or takes no focus. */
function giveFocus(before: Element | null): void {
  if (document.querySelector('dialog[open]') !== null) return
  if (before instanceof HTMLElement && before.isConnected) before.focus()
  if (document.activeElement === document.body) document.getElementById('content')?.focus({ preventScroll: true })
}

/** A native dialog: focus stays in it, Escape closes it, and what is below is inert. */
export function Dialog({ dialog, title, place = 'middle', isClosable = true, actions, children }: Props) {
  const element = useRef<HTMLDialogElement>(null)
  const heading = useId()
  const { isOpen, close } = dialog
  useEffect(() => {
    if (!isOpen) return undefined
    const { activeElement: before } = document
    if (element.current?.open === false) {
      element.current.showModal()
      // The reader of a form or a search types next, so its first field gets the focus, not the
      // close button before it.
      element.current.querySelector<HTMLElement>(`.dialog-body :is(${FIELDS})`)?.focus()
    }
    // The browser does not return the focus when a dialog is removed from the page.
    return () => giveFocus(before)
  }, [isOpen])
  if (!isOpen) return null
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape does the same.
    <dialog
      ref={element}
      className="dialog fade"
      data-place={place}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault()
        if (isClosable) close()
      }}
      onClick={(event) => {
        if (isClosable && event.target === element.current) close()
      }}
    >
      <div className="dialog-head">
        <h2 id={heading}>{title}</h2>
        <div className="actions">
          {actions}
          {isClosable ? (
            <Button kind="quiet" onClick={close}>
              Close <kbd>Esc</kbd>
            </Button>
          ) : null}
        </div>
      </div>
      <div className="dialog-body">{children}</div>
    </dialog>
  )
}
