"""From pictures as they lie about to a dataset that training reads: scanned, mended by stated rules, cropped, bucketed.

What lives here opens strangers' picture files; nothing here trains. ``prepared`` and ``sampling`` are what the training
loop reads; they import neither torch nor cv2.
"""
