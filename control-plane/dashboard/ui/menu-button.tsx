import type { ReactNode } from 'react'
import { useEffect, useId, useRef, useState } from 'react'
import { Button } from './button.tsx'

const GAP_PX = 4

type Props = {
  readonly text: ReactNode
  /** The name of the button for screen readers, if its text is not a name. */
  readonly label?: string
  /** A little more than the height of the menu, so that a menu at the foot of the window opens upwards. */
  readonly heightPx: number
  readonly onOpen?: () => void
  readonly children: (close: () => void) => ReactNode
}

/** A button with a menu below it. */
export function MenuButton({ text, label, heightPx, onOpen, children }: Props) {
  const id = useId()
  const menu = useRef<HTMLDivElement>(null)
  const [isOpen, setOpen] = useState(false)
  const close = () => menu.current?.hidePopover()
  // The menu is fixed to the window. It would stay behind when its button moves.
  useEffect(() => {
    if (!isOpen) return undefined
    const leave = ({ target }: Event) => {
      if (!(target instanceof Node) || menu.current?.contains(target) !== true) menu.current?.hidePopover()
    }
    addEventListener('scroll', leave, { capture: true })
    return () => removeEventListener('scroll', leave, { capture: true })
  }, [isOpen])
  const place = (button: HTMLButtonElement) => {
    const { top, bottom, left, right } = button.getBoundingClientRect()
    const style = menu.current?.style
    if (style === undefined) return
    const isLow = bottom + GAP_PX + heightPx > innerHeight
    style.top = isLow ? 'auto' : `${bottom + GAP_PX}px`
    style.bottom = isLow ? `${innerHeight - top + GAP_PX}px` : 'auto'
    const { clientWidth } = document.documentElement
    // A menu grows towards the middle of the window, where it has room.
    const isLeft = left + right < clientWidth
    style.left = isLeft ? `${left}px` : 'auto'
    style.right = isLeft ? 'auto' : `${clientWidth - right}px`
    onOpen?.()
  }
  return (
    <>
      <Button
        aria-label={label}
        aria-expanded={isOpen}
        popoverTarget={id}
        onClick={({ currentTarget }) => place(currentTarget)}
      >
        {text}
      </Button>
      <div
        id={id}
        ref={menu}
        popover="auto"
        className="menu row-menu"
        onToggle={({ newState }) => setOpen(newState === 'open')}
      >
        {children(close)}
      </div>
    </>
  )
}
