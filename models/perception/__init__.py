"""What is in a picture: faces, landmarks, person mattes, from packaged weights; each with a confidence."""
